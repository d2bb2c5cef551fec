import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { startServiceProcess, temporaryDataDir } from '../service/service-process.ts';
import { ROOT } from '../tool.ts';
import { blocksOfHtml, blocksOfMarkdown, nameOf } from './blocks.ts';
import { PAGES, type Page } from './pages.ts';
import { type Outcome, runPage } from './run-page.ts';
import { openTerminal } from './terminal.ts';
import { NODE_20, TERMINAL } from './tools.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const MARKDOWN = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })]
  .toSorted()
  .filter((page) => blocksOfMarkdown(page, read(page)).length > 0);

/** One line for each block that ran, and for what was left out; blocks that are many and left out for one reason share a line. */
function report(outcomes: readonly Outcome[]): string {
  const byReason = Map.groupBy(outcomes, ({ reason }) => reason);
  return [...byReason]
    .flatMap(([reason, all]) => {
      const names =
        all.length > 5 && reason
          ? [`${all.length} blocks of ${all[0]?.block.page}`]
          : all.map(({ block }) => nameOf(block));
      return names.map((name) => (reason ? `not run: ${name} (${reason})` : `ran ${name}`));
    })
    .join('\n');
}

/** A folder with demo data. */
let demo: string;
let removeDemo: () => void;
afterAll(() => removeDemo());
beforeAll(async () => {
  demo = temporaryDataDir((remove) => {
    removeDemo = remove;
  });
  // The README's `npm start` would install others, for this run too.
  if (read('node_modules/.installed-lock.json') !== read('package-lock.json'))
    throw new Error('The packages are not those of package-lock.json. Run: node .ci/install.mjs --dev');
  await (await startServiceProcess(demo, { DRAIN: 'PT0S' }, () => {})).end('SIGTERM');
});

describe.skipIf(lacks(TERMINAL))('what a reader pastes works', () => {
  // They are tried with another Node, too.
  if (!lacks(TERMINAL)) lacks(NODE_20);

  for (const name of [...MARKDOWN, '/docs']) {
    const page: Page = PAGES[name] ?? {};
    test.skipIf(page.needs !== undefined && lacks(page.needs)).concurrent(name, async () => {
      await using terminal = await openTerminal({ ...page, demo });
      const blocks =
        name === '/docs'
          ? blocksOfHtml(name, await (await fetch(`http://localhost:${terminal.port}/docs`)).text())
          : blocksOfMarkdown(name, read(name));
      console.log(report(await runPage(blocks, page, terminal)));
    });
  }

  test.concurrent.for([
    [
      'a command that fails',
      '```sh\nnpx venue booking lst\n```\n',
      /^planted.md:3 sh: npx venue booking lst\n.*unknown command/s,
    ],
    ['a refused call', '```sh\necho \'{"error":"ValidationError"}\'\n```\n', /It is refused when pasted/],
    ['a hole to fill in', '```sh\nnpx venue booking show …\n```\n', /What stands for the …/],
    ['neither run nor listed', '```text\nhello\n```\n', /^planted.md:3 text: hello\nIt is neither run nor left out/],
    [
      'a secret in a file',
      '```sh\necho \'{"clientSecret": 1}\' > client.json\n```\n',
      /write a secret to client\.json/,
    ],
    ['a program that nothing runs', 'Save `x.mjs`:\n\n```js\n1\n```\n', /No block after it runs x\.mjs/],
  ] as const)('a planted block fails: %s', async ([, block, says], { expect }) => {
    await using terminal = await openTerminal({ given: 'none', demo });
    const text = `# Planted\n\n${block}`;
    await expect(runPage(blocksOfMarkdown('planted.md', text), {}, terminal)).rejects.toThrow(says);
  });
});
