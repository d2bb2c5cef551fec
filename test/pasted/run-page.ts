import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, nameOf } from './blocks.ts';
import type { Fill, Page, Step } from './pages.ts';
import type { Terminal } from './terminal.ts';

/** What a reader leaves running in a terminal of its own. */
const KEEPS_RUNNING = /^((?:\w+=\S+ )*)(npm start|node receiver\.mjs)\b/gm;

/** What was done with a block: run, or left out for a reason. */
export type Outcome = { readonly block: Block; readonly reason?: string };

/**
 * Runs the blocks of a page one after another in one terminal: commands are pasted, programs are saved in the file that the paragraph
 * before them names, and all others have a check. @throws if one fails, or is neither run nor left out with a reason
 */
export async function runPage(blocks: readonly Block[], page: Page, terminal: Terminal): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const steps = stepsOf(blocks, page);
  const saved = new Map<string, Block>();

  function save(block: Block): boolean {
    const [, file] = /.*`([\w-]+\.(?:mjs|py))`/s.exec(block.before) ?? [];
    if (file === undefined) return false;
    writeFileSync(join(terminal.folder, file), withPorts(block.code, terminal));
    saved.set(file, block);
    return true;
  }

  async function run(block: Block, step: Step): Promise<boolean> {
    let printed = '';
    if (step.before !== undefined) await terminal.paste(step.before);
    if (block.language === 'sh') {
      const fill = typeof step.fill === 'function' ? await step.fill(terminal) : (step.fill ?? {});
      const code = commands(block, page, fill, terminal);
      printed = await terminal.paste(code);
      if (/"error":/.test(printed)) throw new Error(`It is refused when pasted:\n${code}\n${printed}`);
      for (const file of saved.keys()) if (code.includes(file)) saved.delete(file);
    } else if (!save(block) && step.check === undefined) return false;
    await step.check?.({ ...terminal, code: withPorts(block.code, terminal), printed });
    return true;
  }

  for (const block of blocks) {
    const reason = page.leftOut?.find(([text]) => begins(block, text))?.[1];
    const isRun = reason === undefined && (await run(block, steps.get(block) ?? {}).catch(failing(block)));
    if (!isRun && reason === undefined)
      failing(block)('It is neither run nor left out with a reason in test/pasted/pages.ts.');
    outcomes.push({ block, ...(reason && { reason }) }, ...linesLeftOut(block, page));
  }
  for (const [file, block] of saved) failing(block)(`No block after it runs ${file}.`);
  refuseSecrets(terminal);
  return outcomes;
}

/** The lines of a block that cannot be run here, though the others can. */
const linesLeftOut = (block: Block, { leftOut = [] }: Page): readonly Outcome[] =>
  leftOut.flatMap(([text, reason]) =>
    block.code
      .split('\n')
      .filter((line) => text !== '' && line.startsWith(text) && !block.code.startsWith(text))
      .map((line) => ({ block: { ...block, code: line }, reason })),
  );

const failing =
  (block: Block) =>
  (cause: unknown): never => {
    throw new Error(`${nameOf(block)}\n${cause instanceof Error ? cause.message : cause}`, { cause });
  };

/** A key or secret in clear. */
const SECRET = /vbs_live_\w{20}|whsec_[\w+/]{20}|"(?:client|signing)Secret"/;

/** Git ignores `data/`. What the blocks wrote elsewhere could be committed. */
function refuseSecrets({ folder }: Terminal): void {
  for (const file of readdirSync(folder, { withFileTypes: true }))
    if (file.isFile() && SECRET.test(readFileSync(join(folder, file.name), 'utf8')))
      throw new Error(`The blocks write a secret to ${file.name}, which git does not ignore.`);
}

/** Finds the block of each step, of which there has to be exactly one. */
function stepsOf(blocks: readonly Block[], { steps = {}, leftOut = [] }: Page): ReadonlyMap<Block, Step> {
  for (const [text] of leftOut)
    if (!blocks.some((block) => begins(block, text) || block.code.includes(`\n${text}`)))
      throw new Error(`No block or line begins with: ${text}`);
  return new Map(
    Object.entries(steps).map(([text, step]) => {
      const [block, ...more] = blocks.filter(({ code }) => code.includes(text));
      if (block === undefined || more.length > 0) throw new Error(`${more.length + 1} blocks, or none, have: ${text}`);
      return [block, step];
    }),
  );
}

const begins = ({ language, code }: Block, text: string): boolean =>
  text === '' ? language === '' : code.startsWith(text);

const withPorts = (text: string, { port, receiverPort }: Terminal): string =>
  text.replaceAll('localhost:3000', `localhost:${port}`).replaceAll(/\b4000\b/g, String(receiverPort));

/** What the reader pastes, after filling in what the page leaves open. */
function commands(pasted: Block, page: Page, fill: Fill, terminal: Terminal): string {
  let filled = withPorts(pasted.code, terminal);
  for (const { block } of linesLeftOut({ ...pasted, code: filled }, page)) filled = filled.replace(block.code, '');
  for (const [text, value] of Object.entries(fill)) {
    if (!filled.includes(text)) throw new Error(`There is nothing to fill in for ${text}.`);
    filled = filled.replaceAll(text, () => value);
  }
  if (filled.replaceAll(/\s#.*$/gm, '').includes('…')) throw new Error(`What stands for the … in it?\n${filled}`);
  const [service, receiver] = [`http://127.0.0.1:${terminal.port}/readyz`, `http://127.0.0.1:${terminal.receiverPort}`];
  return filled.replaceAll(
    KEEPS_RUNNING,
    (_, settings: string, command: string) =>
      `in_background ${command === 'npm start' ? service : receiver} env ${settings}${command}`,
  );
}
