-- include: arguments
-- error_text: errors that the scripts write themselves.
local ESCAPES = { ['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r',
  ['\t'] = '\\t', ['\0'] = '\\\\0' }

-- error_text: the stored form of an error, as `holdfast.core.failure` writes it.
local function error_text(type, message)
  message = string.gsub(message, '[%z\1-\31"\\]', function(character)
    return ESCAPES[character] or string.format('\\u%04x', string.byte(character))
  end)
  return '["' .. type .. '","' .. message .. '",""]'
end
