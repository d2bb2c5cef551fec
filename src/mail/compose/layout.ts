import { cutText } from '../../domain/cut-text.ts';
import { escapeText, type Html, html, raw } from '../../html/html.ts';

/** What a mail says. All texts are plain; `namedText` keeps the direction of a name in a sentence. */
export type MailText = {
  readonly subject: string;
  /** Paragraphs above the facts. */
  readonly intro: readonly string[];
  readonly facts?: readonly Fact[];
  /** The one thing to do, as a button. */
  readonly action?: MailLink;
  /** Why the reader gets it, in small letters. */
  readonly footer?: string;
  /** Follows the footer: where the reader turns such mail off. */
  readonly footerLink?: MailLink;
};

/** A label with its value, which may have several lines, and where the first of them leads. */
export type Fact = readonly [label: string, value: string, url?: string | undefined];

type MailLink = { readonly text: string; readonly url: string };

/** The longest subject in characters. The header of a mail is one line, and mail programs show less. */
const MAX_SUBJECT = 200;

/**
 * Lays out a mail as text and as HTML without images, scripts or anything remote. The HTML has its styles in its elements, since some mail
 * programs drop a style sheet; those that read one get the colours of a dark page.
 */
export function renderMail(mail: MailText): { readonly subject: string; readonly text: string; readonly html: string } {
  return { subject: subjectLine(mail.subject), text: plainText(mail), html: document(mail) };
}

/** One line, even if a name in it has line breaks or other control characters. */
function subjectLine(subject: string): string {
  const line = oneLine(withoutIsolates(subject));
  const characters = Array.from(line);
  return characters.length <= MAX_SUBJECT ? line : `${characters.slice(0, MAX_SUBJECT - 1).join('')}…`;
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();

/** Without the marks of `namedText` around names that need none, because some programs show them as boxes. */
const withoutIsolates = (text: string): string =>
  text.replaceAll(/\u2068([^\u2066-\u2069]*)\u2069/g, (isolated, name: string) =>
    RIGHT_TO_LEFT.test(name) ? isolated : name,
  );

/** Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and their neighbours, and marks of direction. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\u200f\u202a-\u202e\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

const lines = (text: string): readonly string[] => text.split(/\r\n?|[\n\u0085\u2028\u2029]/);

/** Paragraphs are not wrapped: the mail program knows the width of its window. */
function plainText({ intro, facts = [], action, footer, footerLink }: MailText): string {
  const blocks = [
    ...intro.map(oneLine),
    facts.map(factLine).join('\n'),
    action === undefined ? '' : `${action.text}:\n${action.url}`,
    plainFooter(footer, footerLink),
  ];
  return `${withoutIsolates(blocks.filter((block) => block !== '').join('\n\n'))}\n`;
}

/** Below the line that mail programs recognise as the begin of a signature. */
function plainFooter(footer: string | undefined, link: MailLink | undefined): string {
  const parts = [...(footer === undefined ? [] : [oneLine(footer)]), ...(link ? [`${link.text}: ${link.url}`] : [])];
  return parts.length === 0 ? '' : ['-- ', ...parts].join('\n');
}

/** The lines of a longer value are indented, so that none of them looks like another fact. */
function factLine([label, value, url]: Fact): string {
  const [first = '', ...others] = [...lines(value), ...(url === undefined ? [] : [url])];
  return others.length === 0
    ? `${label}: ${first}`
    : [`${label}:`, ...[first, ...others].map((line) => `    ${line}`)].join('\n');
}

/** An attribute with the style of an element. */
const style = (...declarations: readonly string[]): Html => raw(` style="${escapeText(declarations.join(';'))}"`);

const FONT =
  "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',Arial,sans-serif";
/** A long word without a space is broken rather than wider than the screen. */
const BREAKS = 'overflow-wrap:anywhere;word-break:break-word';

const BODY = style('margin:0', 'padding:0', 'background:#f6f3ec', 'color:#1d2320', '-webkit-text-size-adjust:100%');
/** Mail programs show the first text of a mail beside its subject in their lists. */
const PREHEADER = style(
  ...['display:none', 'max-height:0', 'max-width:0', 'overflow:hidden', 'opacity:0', 'font-size:1px', 'mso-hide:all'],
);
const MAX_PREHEADER = 150;
/** Invisible, so that no more of the mail follows what is said first. */
const FILLING = '\u00a0\u200c'.repeat(100);

/** The first sentences, which say more than the subject. */
const preheader = (intro: readonly string[]): string =>
  `${cutText(withoutIsolates(oneLine(intro.join(' '))), MAX_PREHEADER)}${FILLING}`;

const SHEET = style(
  FONT,
  BREAKS,
  'font-size:16px',
  'line-height:1.5',
  'max-width:600px',
  'margin:0 auto',
  'padding:16px',
);
const CARD = style(
  'background:#fffdf8',
  'color:#1d2320',
  'border:1px solid #dcd6c8',
  'border-radius:10px',
  'padding:20px',
);
const SERVICE = style('margin:0 0 12px', 'font-size:14px', 'font-weight:600', 'color:#17594d');
const HEADING = style('margin:0 0 16px', 'font-size:20px', 'line-height:1.3', 'font-weight:650', 'color:#1d2320');
const PARAGRAPH = style('margin:0 0 16px');
const TABLE = style(
  'width:100%',
  'table-layout:fixed',
  'border-collapse:collapse',
  'margin:0 0 20px',
  'font-size:15px',
);
const CELL = ['text-align:start', 'vertical-align:top', 'padding:8px 0', 'border-top:1px solid #dcd6c8', BREAKS];
const LABEL = style(...CELL, 'width:34%', 'padding-inline-end:12px', 'font-weight:400', 'color:#5a615b');
const VALUE = style(...CELL, 'white-space:pre-line');
const BUTTON = style(
  ...['display:inline-block', 'padding:12px 20px', 'border-radius:6px', 'background:#17594d', 'color:#ffffff'],
  ...['font-weight:600', 'text-decoration:none'],
);
const FOOT = style('margin:16px 4px 0', 'font-size:13px', 'color:#5a615b');
const LINK = style('color:#17594d');

/** What only a style sheet can choose: the colours of a dark page, and labels above their values on a phone. It overrules the elements. */
const STYLES = raw(`<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  th, td { display: block !important; width: auto !important; padding: 0 !important; }
  th { padding-top: 8px !important; }
  td { padding-bottom: 8px !important; border-top: 0 !important; }
}
@media (prefers-color-scheme: dark) {
  body { background: #131614 !important; color: #ecebe3 !important; }
  .card { background: #1b1f1d !important; color: #ecebe3 !important; border-color: #343a36 !important; }
  h1 { color: #ecebe3 !important; }
  th { color: #a7aea8 !important; }
  th, td { border-color: #343a36 !important; }
  .service, td a, .foot a { color: #84d0bc !important; }
  .foot { color: #a7aea8 !important; }
  .button { background: #84d0bc !important; color: #08221c !important; }
}
</style>`);

function document({ subject, intro, facts = [], action, footer, footerLink }: MailText): string {
  return html`${raw('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${subjectLine(subject)}</title>
${STYLES}
</head>
<body${BODY}>
<div${PREHEADER} aria-hidden="true">${preheader(intro)}</div>
<div role="main"${SHEET}>
<p class="service"${SERVICE}>Venue Booking</p>
<div class="card"${CARD}>
<h1${HEADING}>${oneLine(subject)}</h1>
${intro.map((text) => html`<p${PARAGRAPH}>${text}</p>\n`)}${facts.length > 0 && factTable(facts)}${
  action && html`<p${style('margin:0')}><a class="button"${BUTTON} href="${action.url}">${action.text}</a></p>`
}
</div>
${
  (footer ?? footerLink) !== undefined &&
  html`<p class="foot"${FOOT}>${footer} ${
    footerLink && html`<a${LINK} href="${footerLink.url}">${footerLink.text}</a>`
  }</p>`
}
</div>
</body>
</html>
`.markup;
}

const factTable = (facts: NonNullable<MailText['facts']>): Html =>
  html`<table${TABLE}>${facts.map(
    ([label, value, url]) =>
      html`<tr><th scope="row"${LABEL}>${label}</th><td${VALUE} dir="auto">${
        url === undefined ? value : linkedValue(value, url)
      }</td></tr>\n`,
  )}</table>\n`;

function linkedValue(value: string, url: string): Html {
  const [first = '', ...others] = lines(value);
  return html`<a${LINK} href="${url}">${first}</a>${others.map((line) => `\n${line}`)}`;
}
