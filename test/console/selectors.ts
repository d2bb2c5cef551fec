import type { Page } from 'playwright-core';

/** The selectors of each rule of a page's stylesheets and of the rules around it, outermost first. Runs in the page. */
const RULES = `(() => {
  const chains = [];
  const collect = (rules, outer) => {
    for (const rule of rules) {
      const chain = rule instanceof CSSStyleRule ? [...outer, rule.selectorText] : outer;
      if (chain !== outer) chains.push(chain);
      if (rule.cssRules) collect(rule.cssRules, chain);
    }
  };
  for (const sheet of document.styleSheets) collect(sheet.cssRules, []);
  return chains;
})()`;

/** Looks for an element for each selector of the stylesheets of pages, in one page after the other. */
export function searchSelectors() {
  const known = new Set<string>();
  let unmatched: readonly string[] = [];
  return {
    async look(page: Page): Promise<void> {
      const chains = await page.evaluate<readonly (readonly string[])[]>(RULES);
      const added = new Set(chains.flatMap(unnested).map(withoutMoments)).difference(known);
      for (const selector of added) known.add(selector);
      const wanted = JSON.stringify([...unmatched, ...added]);
      const search = `${wanted}.filter((selector) => document.querySelector(selector) === null)`;
      unmatched = await page.evaluate<readonly string[]>(search);
    },
    /** Those that no page had an element for. Without those inside of others. */
    unmatched: () => unmatched.filter((one) => !unmatched.some((other) => other !== one && one.startsWith(other))),
  };
}

/** The selectors of the innermost list, within the lists around it. */
function unnested(chain: readonly string[]): readonly string[] {
  const around = chain.slice(0, -1).reduce((outer, list) => nested(outer, asOne(list)), '');
  return alternativesOf(chain.at(-1) ?? '').map((selector) => nested(around, selector));
}

const asOne = (list: string): string => (partsOf(list).length > 1 ? `:is(${list})` : list);

function nested(around: string, selector: string): string {
  if (around === '') return selector;
  if (!selector.includes('&')) return `${around} ${selector}`;
  return selector.startsWith('&') ? `${around}${selector.slice(1)}` : selector.replaceAll('&', `:is(${around})`);
}

/** `.a, :is(.b, .c) p` as `.a`, `:is(.b) p` and `:is(.c) p`. */
const alternativesOf = (list: string): readonly string[] => partsOf(list).flatMap((selector) => expanded(selector, 0));

function expanded(selector: string, from: number): readonly string[] {
  const [found] = /:(?:is|where)\(/.exec(selector.slice(from)) ?? [];
  if (found === undefined) return [selector];
  const begin = selector.indexOf(found, from) + found.length;
  const end = endOfBrackets(selector, begin);
  return alternativesOf(selector.slice(begin, end)).flatMap((inner) =>
    expanded(`${selector.slice(0, begin)}${inner}${selector.slice(end)}`, begin + inner.length),
  );
}

/** A list of selectors, divided at its commas outside of brackets. */
function partsOf(list: string): readonly string[] {
  const parts: string[] = [];
  let [begin, depth] = [0, 0];
  for (const [index, character] of [...list].entries()) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character !== ',' || depth > 0) continue;
    parts.push(list.slice(begin, index).trim());
    begin = index + 1;
  }
  return [...parts, list.slice(begin).trim()];
}

function endOfBrackets(text: string, begin: number): number {
  let depth = 1;
  for (let index = begin; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    if (text[index] === ')') depth -= 1;
    if (depth === 0) return index;
  }
  throw new Error(`A bracket is not closed in ${text}`);
}

/** What is true at some moments only: it depends on the pointer, the focus, or on what is open. */
const MOMENT = /:not\([^)]*\[open\]\)+|\[open\]|:(?:hover|focus-visible|focus|popover-open|target)\b/g;

/** A selector without moments, and without parts that are no elements. */
const withoutMoments = (selector: string): string =>
  selector.replaceAll(/::[\w-]+/g, '').replaceAll(MOMENT, ':nth-child(n)') || '*';
