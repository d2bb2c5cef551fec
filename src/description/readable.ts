/** Pretty-printed JSON; values that fit stay on one line. A plain text stays unchanged. */
export function readable(value: unknown, indent = ''): string {
  if (typeof value === 'string' && indent === '') return value;
  const line = JSON.stringify(value, undefined, 1)?.replaceAll(/\n */g, ' ') ?? '';
  if (line.length <= 88 || typeof value !== 'object' || value === null) return line;
  const deeper = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((item) => readable(item, deeper))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${readable(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${entries.map((entry) => deeper + entry).join(',\n')}\n${indent}${close}`;
}
