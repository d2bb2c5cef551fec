import { parseSync } from '@swc/core';
import { check } from 'recheck';

/** A file of source. */
type Source = { readonly file: string; readonly text: string };

/** A regular expression in a file. Without flags if its source is an expression, which is known only when the program runs. */
type Pattern = { readonly source: string; readonly flags?: string };

/** Patterns that the tool cannot read, with the reason why none of them needs more than linear time. */
const REVIEWED: ReadonlyMap<string, string> = new Map([
  [
    // src/mcp/visible-text.ts; recheck does not know the flag v.
    `new RegExp(\`[\${HIDDEN_SET}]+\`, 'gv')`,
    'One set of characters, repeated, with nothing behind it that could fail.',
  ],
  [`new RegExp(\`(\\\\p{RGI_Emoji})|\${HIDDEN.source}\`, 'gv')`, 'The same set, or one emoji.'],
]);

/**
 * Finds the regular expressions that need more than linear time for some text (docs/decisions/rest-api.md#texts-from-outside).
 * @param reviewed those that are accepted unchecked. One that is in no file is reported, too
 * @returns one line each
 */
export async function slowPatterns(sources: readonly Source[], reviewed = REVIEWED): Promise<readonly string[]> {
  const problems: string[] = [];
  const checked = new Set<string>();
  for (const { file, text } of sources)
    for (const pattern of patternsIn({ file, text })) {
      const shown = pattern.flags === undefined ? pattern.source : `/${pattern.source}/${pattern.flags}`;
      if (checked.has(shown)) continue;
      checked.add(shown);
      const problem = reviewed.has(shown) ? undefined : await problemOf(pattern);
      const [before = ''] = text.split(pattern.source, 1);
      if (problem !== undefined) problems.push(`${file}:${before.split('\n').length} ${shown}: ${problem}`);
    }
  const unused = [...reviewed.keys()].filter((each) => !checked.has(each));
  return [...problems, ...unused.map((each) => `${each} is in the list of reviewed patterns only`)];
}

/** Literals, calls of `RegExp`, and the patterns of schemas: texts that begin with `^` and end with `$`. */
function patternsIn({ file, text }: Source): readonly Pattern[] {
  // Positions count bytes, over all files that this process has parsed, and a program begins at its first token.
  const bytes = Buffer.from(`;${text}`);
  const program = parseSync(`;${text}`, {
    syntax: file.endsWith('.ts') ? 'typescript' : 'ecmascript',
    target: 'esnext',
  });
  const { start } = program.span;
  const found: Pattern[] = [];
  const pending: unknown[] = [program];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (!isNode(node)) continue;
    if (node.type === 'RegExpLiteral') found.push({ source: String(node.pattern), flags: String(node.flags) });
    if (node.type === 'StringLiteral' && /^\^.*\$$/.test(String(node.value)))
      found.push({ source: String(node.value), flags: 'u' });
    const isCall = node.type === 'NewExpression' || node.type === 'CallExpression';
    if (isCall && isNode(node.callee) && node.callee.value === 'RegExp' && isSpan(node.span))
      found.push({ source: bytes.subarray(node.span.start - start, node.span.end - start).toString() });
    for (const inside of Object.values(node)) pending.push(inside ?? false);
  }
  return found;
}

type Node = { readonly [name: string]: unknown };
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const isSpan = (value: unknown): value is { readonly start: number; readonly end: number } =>
  isNode(value) && typeof value.start === 'number' && typeof value.end === 'number';

/** The same result on every machine, at every load: no limit of time, except for patterns that cannot be decided. */
const DECIDED = { maxNFASize: 2_000, incubationTimeout: null, timeout: 60_000 };

async function problemOf({ source, flags }: Pattern): Promise<string | undefined> {
  if (flags === undefined) return 'write it as a literal, or review it (test/patterns/patterns.ts)';
  if (repeatsFewTimes(source)) return undefined;
  const found = await check(source, flags, DECIDED);
  if (found.status === 'safe') return undefined;
  if (found.status === 'unknown') return `the tool cannot decide it (${found.error.kind})`;
  return `takes ${found.complexity.summary} time, such as for ${found.attack.pattern}`;
}

/** Whether each repetition is of one character and has an upper limit, as in `\d{1,4}`. The tool would need a second for some of these. */
function repeatsFewTimes(source: string): boolean {
  const plain = source.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, 'x');
  return !/[*+]|\{\d+,\}|\)\{/.test(plain);
}
