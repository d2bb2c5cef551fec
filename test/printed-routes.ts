/** Every path of the service, as Fastify prints them: a tree with four characters a level. */
export function pathsOf(printed: string): string[] {
  const above: string[] = [];
  const paths: string[] = [];
  for (const line of printed.split('\n')) {
    const [, indent = '', segment = '', methods] = /^([│ ]*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    if (segment === '') continue;
    const level = indent.length / 4;
    above.length = level;
    above.push(segment);
    if (methods !== undefined) paths.push(above.join('').replace('//', '/'));
  }
  return paths;
}
