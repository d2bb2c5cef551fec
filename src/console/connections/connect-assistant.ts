import { type Html, html } from '../../html/html.ts';
import { copyButton } from '../parts/copy-button.ts';

/** The name of this service in the configuration of an assistant. */
const NAME = 'venue-booking';

/** How to connect an AI assistant: the address, and what the three most common ones take. */
export function connectAssistant(publicUrl: string): Html {
  const url = `${publicUrl}/mcp`;
  const json = (value: object) => JSON.stringify(value);
  return html`<section class="card"><h2>Connect an AI assistant</h2>
<p>Give it this address (MCP). It opens this site, where you sign in and allow it.</p>
${snippet('mcp-address', 'Address', url)}
${snippet('mcp-claude', 'Claude Code, in a terminal', `claude mcp add --transport http ${NAME} ${url}`)}
${snippet('mcp-vscode', 'VS Code, in a terminal', `code --add-mcp '${json({ name: NAME, type: 'http', url })}'`)}
${snippet('mcp-cursor', 'Cursor, in ~/.cursor/mcp.json', json({ mcpServers: { [NAME]: { url } } }))}
<p class="small muted">In the Claude app, add the address under Settings, Connectors, as a custom connector.</p></section>`;
}

const snippet = (id: string, title: string, text: string): Html =>
  html`<div class="stack tight"><h3 class="small muted">${title}</h3><pre id="${id}">${text}</pre>${copyButton(id, `for ${title}`)}</div>`;
