import { Marked } from 'marked';
import { isObject } from '../domain/is-object.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { assetUrl } from '../html/assets.ts';
import { type Html, html, type Interpolated, raw } from '../html/html.ts';
import { htmlDocument, mark } from '../html/layout.ts';
import type { JsonSchema } from './components.ts';
import type { NamedExamples, Operation, Response } from './document.ts';
import { readExamples } from './examples.ts';
import { guide } from './guide.ts';
import type { ApiDescription } from './openapi.ts';
import { readable } from './readable.ts';
import type { Settings } from './settings.ts';

/** Failures that every operation has; shown once. */
const COMMON = ['401', '500'];

/** Renders the description as a page for people: the guide, and every operation, delivery and schema with its examples. */
export async function docsPage(api: ApiDescription, settings: Settings): Promise<string> {
  const markdown = markdownRenderer();
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  );
  const [anyOperation] = operations;
  // In parts, because Marked takes longer per line the longer the text is.
  const guideParts = await inSlices(api.info.description.split(/\n(?=## )/), markdown);
  const assistants = markdown(guide('assistants', settings, readExamples()));

  const operationArticle = ({ method, path, ...operation }: (typeof operations)[number]): Html =>
    html`<article id="operation/${operation.operationId}">
<h3>${operation.summary}</h3>
<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
${markdown(operation.description).content}
${parameters(operation, markdown)}
${
  operation.requestBody &&
  html`<h4>Request body</h4><p>${typeOf(operation.requestBody.content['application/json'].schema)}</p>
${examples(operation.requestBody.content['application/json'].examples, 'Request')}`
}
<h4>Responses</h4>
${Object.entries(operation.responses).map(([status, response]) =>
  responseDetails(status, response, markdown, COMMON.includes(status) ? anyOperation : undefined),
)}
</article>`;

  const deliveryArticle = ([event, { post }]: readonly [string, { readonly post: Operation }]): Html =>
    html`<article id="delivery/${event}">
<h3>${event}</h3>
<p>${post.summary}. ${typeOf(post.requestBody?.content['application/json'].schema)}</p>
<pre><code>${(post.parameters ?? []).map(({ name, example }) => `${name}: ${example}\n`)}
${JSON.stringify(post.requestBody?.content['application/json'].examples?.delivery?.value)}</code></pre>
</article>`;

  const tagSection = async ({ name, description }: (typeof api.tags)[number]): Promise<Html> => {
    const own = operations.filter(({ tags }) => tags.includes(name));
    const articles = await inSlices(own, operationArticle);
    return html`<section id="tag/${name}"><h2>${name}</h2>
${markdown(description).content}
${articles}
${name === 'Deliveries' && Object.entries(api.webhooks).map(deliveryArticle)}
</section>`;
  };

  const sections: Html[] = [];
  for (const tag of api.tags) sections.push(await tagSection(tag));
  const schemas = await inSlices(Object.entries(api.components.schemas), ([name, schema]) =>
    schemaArticle(name, schema, markdown),
  );
  const main = html`<h1>${api.info.title}: the API</h1>
<p class="lead">${api.info.summary} The same as a file for tools: <a href="/openapi.json">OpenAPI 3.1</a>, and
<a href="/openapi-3.0.json">OpenAPI 3.0</a>.</p>
<section id="guide">${guideParts.map(({ content }) => content)}
${
  anyOperation &&
  html`<h3 id="failures">What every operation may answer</h3>
${COMMON.map((status) => responseDetails(status, anyOperation.responses[status], markdown))}`
}
</section>
${sections}
<section id="assistants"><h2>Assistants (MCP)</h2>${assistants.content}</section>
<section id="schemas"><h2>Schemas</h2>
${schemas}
</section>`;

  const contents = html`<nav aria-label="Contents"><ul>
${guideParts.flatMap(({ headings }) => headings).map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}
${api.tags.map(
  ({ name }) => html`<li><a href="#tag/${name}">${name}</a><ul>
${operations
  .filter(({ tags }) => tags.includes(name))
  .map(({ operationId, summary }) => html`<li><a href="#operation/${operationId}">${summary}</a></li>`)}
${name === 'Deliveries' && Object.keys(api.webhooks).map((event) => html`<li><a href="#delivery/${event}">${event}</a></li>`)}
</ul></li>`,
)}
<li><a href="#assistants">Assistants (MCP)</a></li>
<li><a href="#schemas">Schemas</a></li>
</ul></nav>`;

  return htmlDocument({
    title: 'API',
    body: html`<header>${mark()}</header>
<div class="docs-columns">
${contents}
<main id="main" tabindex="-1">${main}</main>
</div>`,
    head: html`<link rel="stylesheet" href="${assetUrl('docs.css')}">`,
    attributes: html` class="docs"`,
  });
}

/** Renders items one after another without holding the event loop. */
async function inSlices<Item, R>(items: readonly Item[], render: (item: Item) => R): Promise<R[]> {
  const slice = yieldEvery(1, { waitsFirst: true });
  const rendered: R[] = [];
  for (const item of items) {
    await slice();
    rendered.push(render(item));
  }
  return rendered;
}

type Rendered = {
  readonly content: Html;
  readonly headings: readonly { readonly id: string; readonly text: string }[];
};
type Markdown = (text: string) => Rendered;

/** Renders our own Markdown; names and addresses of the installation in it were validated at start. */
function markdownRenderer(): Markdown {
  let headings: { id: string; text: string }[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens);
        const id = `guide/${text.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
        headings.push({ id, text });
        return `<h${depth} id="${id}">${text}</h${depth}>\n`;
      },
    },
  });
  return (text) => {
    headings = [];
    const markup = marked.parse(text, { async: false });
    return { content: raw(markup), headings };
  };
}

function parameters({ parameters: list = [] }: Operation, markdown: Markdown): Interpolated {
  if (list.length === 0) return undefined;
  return html`<h4>Parameters</h4><dl>${list.map(
    ({ name, in: location, required, description, schema, example }) =>
      html`<dt><code>${name}</code> <span class="muted">${location}, ${required ? 'required' : 'optional'}, ${typeOf(schema)}</span></dt>
<dd>${markdown(description ?? '').content}${example !== undefined && html`<p>Example: <code>${String(example)}</code></p>`}</dd>`,
  )}</dl>`;
}

/** @param example an operation whose examples of this status need not be repeated */
function responseDetails(
  status: string,
  response: Response | undefined,
  markdown: Markdown,
  example?: Operation,
): Html | undefined {
  const content = response?.content?.['application/json'];
  const before = example?.responses[status]?.content?.['application/json'].examples ?? {};
  const named = Object.entries(content?.examples ?? {}).filter(([name]) => !(name in before));
  if (example !== undefined && named.length === 0) return undefined;
  return html`<details${raw(Number(status) < 300 ? ' open' : '')}><summary><span class="status">${status}</span> ${
    Number(status) < 300 ? 'Success' : status === '304' ? 'Not modified' : codesIn(content?.examples)
  }</summary>
${markdown(response?.description ?? '').content}
${content && html`<p>${typeOf(content.schema)}</p>`}
${examples(Object.fromEntries(named))}
</details>`;
}

/** The error codes that examples show. */
const codesIn = (named: NamedExamples = {}): string =>
  [...new Set(Object.values(named).map(({ value }) => (value as { readonly error?: string }).error))].join(', ');

const examples = (named: NamedExamples = {}, prefix?: string): Interpolated =>
  Object.values(named).map(
    ({ summary, value }) =>
      html`<figure><figcaption>${prefix === undefined ? summary : `${prefix}: ${lowerFirst(summary)}`}</figcaption>
<pre><code>${readable(value)}</code></pre></figure>`,
  );

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

const schemaArticle = (name: string, schema: JsonSchema, markdown: Markdown): Html =>
  html`<article id="schema/${name}"><h3>${name}</h3>
${markdown(String(schema.description ?? '')).content}
${
  isObject(schema.properties)
    ? html`<dl>${Object.entries(schema.properties).map(([field, property]) =>
        isObject(property)
          ? html`<dt><code>${field}</code> <span class="muted">${typeOf(property)}${isOptional(schema, field) && ', optional'}</span></dt>
<dd>${markdown(String(property.description ?? '')).content}</dd>`
          : undefined,
      )}</dl>`
    : html`<p>${typeOf(schema)}</p>`
}
</article>`;

const isOptional = ({ required }: JsonSchema, field: string): boolean =>
  !(Array.isArray(required) && required.includes(field));

/** A type in a few words, with the limits of its values. */
function typeOf(schema: JsonSchema | undefined): Interpolated {
  if (schema === undefined) return undefined;
  const { $ref, type, items, anyOf, additionalProperties, format, minimum, maximum, maxLength, pattern } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? '';
    return html`<a href="#schema/${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf)) return anyOf.map((each, index) => [index > 0 && ' or ', typeOf(each)]);
  if (isObject(items)) return html`array of ${typeOf(items)}`;
  if (isObject(additionalProperties)) return html`object, by name: ${typeOf(additionalProperties)}`;
  if (Array.isArray(schema.enum))
    return html`one of ${schema.enum.map((value, index) => [index > 0 && ', ', html`<code>${value}</code>`])}`;
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`;
  const open = maximum === Number.MAX_SAFE_INTEGER;
  return [
    typeof type === 'string' ? type : 'any value',
    format !== undefined && ` (${format})`,
    !open && minimum !== undefined && maximum !== undefined && `, ${minimum} to ${maximum}`,
    maxLength !== undefined && `, at most ${maxLength} characters`,
    typeof pattern === 'string' && html`, <code>${pattern}</code>`,
  ];
}
