/** A code block of a page. */
export type Block = {
  readonly page: string;
  /** The number of its first line in the page, or of the block on a page of HTML. */
  readonly at: number;
  readonly language: string;
  readonly code: string;
  /** The paragraph before it, which names the file that the reader saves it as. */
  readonly before: string;
};

export const nameOf = ({ page, at, language, code }: Block): string =>
  `${page}:${at} ${language || 'no language'}: ${code.trim().split('\n', 1)[0]?.slice(0, 70)}`;

/** The fenced blocks of a page of Markdown, in their order. */
export function blocksOfMarkdown(page: string, text: string): readonly Block[] {
  return [...text.matchAll(/^( *)(```+|~~~+)([^\n]*)\n(.*?)^\1\2$/gms)].map(
    ({ index, 3: language = '', 4: code = '' }) => ({
      page,
      at: text.slice(0, index).split('\n').length,
      language: language.trim(),
      code,
      before: text.slice(0, index).trimEnd().split('\n\n').at(-1) ?? '',
    }),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The blocks of a page of HTML. The ones without a language are those that are not from its Markdown. */
export function blocksOfHtml(page: string, html: string): readonly Block[] {
  return [...html.matchAll(/<pre><code(?: class="language-(\w+)")?>(.*?)<\/code><\/pre>/gs)].map(
    ({ 1: language = '', 2: code = '' }, index) => ({
      page,
      at: index + 1,
      language,
      code: code.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? ''),
      before: '',
    }),
  );
}
