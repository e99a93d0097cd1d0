"""The tools of `holdfast mcp`: commands of this program, offered to an assistant by the Model Context Protocol."""
