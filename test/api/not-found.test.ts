import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService } from '../running-service.fixture.ts';

let service: Awaited<ReturnType<typeof runService>>;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.stop());

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const ask = (url: string, accept: string, method: 'GET' | 'POST' = 'GET') =>
  service.call(method, url, { headers: { accept } });

async function askForErrorPage(url: string) {
  const answer = await ask(url, BROWSER);
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  expect(answer.headers.vary).toContain('accept');
  expect(answer.body).toContain('href="/console"');
  return answer;
}

test.each(['/nope', '/console.html', '/docs/nope', '/nope/%3Cb%3E?x=<b>'])(
  'a browser gets an error page for %s',
  async (url) => {
    const answer = await askForErrorPage(url);
    expect(answer.statusCode).toBe(404);
    expect(answer.body).toContain('<h1>Page not found</h1>');
    expect(answer.body).not.toContain('<b>');
  },
);

test.each(['/%zz', '/console/%zz', '/docs/%E0%A4%A'])(
  'a browser gets an error page for the malformed address %s',
  async (url) => {
    const answer = await askForErrorPage(url);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('cannot be read');
    for (const accept of ['*/*', 'application/json'])
      expect((await ask(url, accept)).json()).toMatchObject({ error: 'ValidationError' });
  },
);

test.each(['/nope', '/console/nope'])('a form posted by a browser to %s gets an error page', async (url) => {
  const headers = { accept: BROWSER, 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await service.call('POST', url, { headers, body: 'csrf=1' });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.body).toContain('<h1>Nothing was changed</h1>');
});

test.each([
  ['/nope', '*/*', 'GET'],
  ['/nope', 'application/json', 'GET'],
  ['/nope', 'application/json, text/html;q=0.5', 'GET'],
  ['/nope', '*/*', 'POST'],
  ['/api/v1/nope', BROWSER, 'GET'],
  ['/api', BROWSER, 'GET'],
] as const)('%s for %s by %s gets the JSON error', async (url, accept, method) => {
  const answer = await ask(url, accept, method);
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toEqual({ error: 'ResourceNotFound', details: `There is no ${method} ${url}.` });
});
