import { eventually } from '../eventually.ts';
import type { Tab } from './tab.ts';

/**
 * Functions for the page. `hidden` says why a click on the middle of a control would not reach it, `control` finds the first visible one
 * with a text or label, below an optional selector.
 */
const IN_PAGE = `
  const CONTROLS = 'a[href], button, summary, select, textarea, input:not([type=hidden])';
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
  const named = (one) =>
    (one.ariaLabel || [...(one.labels ?? [])].map((label) => label.textContent).join(' ') || one.textContent || one.name || '')
      .replace(/\\s+/g, ' ').trim();
  function middleOf(one) {
    one.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const { left, right, top, bottom } = one.getClientRects()[0];
    return { x: Math.floor((left + right) / 2), y: Math.floor((top + bottom) / 2) };
  }
  function hidden(one) {
    const { x, y } = middleOf(one);
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return 'is outside of the window, at ' + x + ', ' + y;
    const top = document.elementFromPoint(x, y);
    const isReached = one.contains(top) || [...(one.labels ?? [])].some((label) => label.contains(top));
    return isReached ? undefined : 'is under ' + (top?.outerHTML.slice(0, 90) ?? 'nothing');
  }
  const control = (text, within = 'body') =>
    [...document.querySelectorAll(within)]
      .flatMap((part) => [part, ...part.querySelectorAll(CONTROLS)])
      .find((one) => one.matches(CONTROLS) && isShown(one) && named(one).startsWith(text));
`;

/** An expression: where a page is, and how it begins. */
export const SHOWN = `location.href + '\\n' + document.body.innerText.slice(0, 1000)`;

/** Waits until an expression in the page is true. While another page loads, it is not. */
export async function waitUntil(tab: Tab, expression: string): Promise<void> {
  await eventually(async () => {
    if (!(await tab.evaluate<boolean>(`Boolean(${expression})`))) {
      throw new Error(`Not true: ${expression}, on ${await tab.evaluate<string>(SHOWN)}`);
    }
  });
}

/** Clicks on the middle of the first visible control with this text or label, once it can be reached. */
export async function click(tab: Tab, text: string, within = 'body'): Promise<void> {
  const { x, y } = await eventually(() =>
    tab.evaluate<{ readonly x: number; readonly y: number }>(`(() => {${IN_PAGE}
      const found = control(${JSON.stringify(text)}, ${JSON.stringify(within)});
      if (!found) throw new Error('No control ' + ${JSON.stringify(text)} + ' on ' + location.href + ': ' + document.body.innerText.slice(0, 1000));
      const problem = hidden(found);
      if (problem) throw new Error(named(found) + ' ' + problem);
      return middleOf(found);
    })()`),
  );
  await tab.clickAt(x, y);
}

/** Clicks into a field and types into it. */
export async function fill(tab: Tab, label: string, text: string, within?: string): Promise<void> {
  await click(tab, label, within);
  await tab.type(text);
}

export type Reach = {
  /** How many controls were looked at. */
  readonly count: number;
  readonly outOfReach: readonly string[];
};

/**
 * The visible controls of a page of which a click on the middle would reach something else. Opens each disclosure and each popover by
 * itself, too, and looks at the controls in it.
 */
export const reachOf = (tab: Tab): Promise<Reach> =>
  tab.evaluate<Reach>(`(async () => {${IN_PAGE}
    // Until Firefox has laid the page out, it scrolls only as far as it could before.
    const laidOut = () => new Promise((done) => setTimeout(done, 50));
    const found = new Set();
    const look = async (root) => {
      // What only screen readers and the keyboard find is one pixel large or above the page.
      const isForMouse = (one) => one.offsetWidth > 1 && one.getBoundingClientRect().bottom + scrollY > 0;
      const shown = [...root.querySelectorAll(CONTROLS)].filter((one) => isShown(one) && isForMouse(one));
      for (const one of shown) {
        if (hidden(one)) await laidOut();
        const problem = hidden(one);
        if (problem) found.add(one.localName + ' ' + named(one).slice(0, 40) + ' ' + problem);
      }
      return shown.length;
    };
    let count = await look(document);
    for (const details of document.querySelectorAll('details:not([open])')) {
      if (!isShown(details)) continue;
      details.open = true;
      count += await look(details.closest('.request-row') ?? details);
      details.open = false;
    }
    for (const popover of document.querySelectorAll('[popover]')) {
      popover.showPopover();
      count += await look(popover);
      popover.hidePopover();
    }
    return { count, outOfReach: [...found] };
  })()`);

/** The windows in which the console is tried. */
export const SIZES = [
  [1440, 900],
  [390, 844],
] as const;

/** What {@link reachOf} finds on pages, in windows of each size. */
export async function outOfReach(
  tab: Tab,
  url: string,
  pages: readonly { readonly name: string; readonly path: string }[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, path } of pages) {
    await tab.open(`${url}${path}`);
    for (const [width, height] of SIZES) {
      await tab.resize(width, height);
      const { count, outOfReach } = await reachOf(tab);
      if (count === 0) found.push(`${name}, ${width} px: no controls`);
      for (const each of outOfReach) found.push(`${name}, ${width} px: ${each}`);
    }
  }
  return found;
}
