import { expect, test } from 'vitest';
import { EMPTY, flag, html, namedText, raw } from '../../src/html/html.ts';

const ATTACK = `"><script>alert('x')</script>&amp;`;

test('text is displayed, never executed, between tags and inside quoted attributes', () => {
  const shown = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;';
  expect(html`<p>${ATTACK}</p>`.markup).toBe(`<p>${shown}</p>`);
  expect(html`<input value="${ATTACK}">`.markup).toBe(`<input value="${shown}">`);
  expect(html`<input value='${ATTACK}'>`.markup).toBe(`<input value='${shown}'>`);
});

test('fragments and lists render unescaped; absent values render nothing', () => {
  const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`);
  expect(html`<ul>${items}</ul>${false}${null}${undefined}${0}`.markup).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>0');
  expect(html`${raw('<hr>')}${EMPTY}`.markup).toBe('<hr>');
  expect(html`<input type="checkbox"${flag('checked', true)}${flag('disabled', false)}>`.markup).toBe(
    '<input type="checkbox" checked>',
  );
});

test('a link that is neither http(s) nor a local path becomes #', () => {
  for (const url of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/\\evil.example',
  ])
    expect(html`<a href="${url}">x</a>`.markup).toBe('<a href="#">x</a>');
  expect(html`<a href="${'https://a.example/?a=1&b=2'}">x</a>`.markup).toBe(
    '<a href="https://a.example/?a=1&amp;b=2">x</a>',
  );
  expect(html`<a class="x" href="/bookings/${7}">x</a>`.markup).toBe('<a class="x" href="/bookings/7">x</a>');
});

test('interpolating where escaping is insufficient throws', () => {
  expect(() => html`<input value=${'x'}>`).toThrow('without quotes');
  expect(() => html`<a class="a" onclick="go(${1})">x</a>`).toThrow('onclick');
  expect(() => html`<a style="color:${'red'}">x</a>`).toThrow('style');
  expect(() => html`<script>const a = ${1}</script>`).toThrow('script');
  expect(() => html`<style>a{color:${'red'}}</style>`).toThrow('style');
  expect(() => html`<!-- ${'-->'} -->`).toThrow('comment');
  expect(() => html`<a title="${'x'}" data-a=${'y'}>x</a>`).toThrow('without quotes');
});

test('allows an interpolation after a closed script or comment', () => {
  expect(html`<!-- why --><script src="/a.js"></script><p>${'x'}</p>`.markup).toContain('<p>x</p>');
  expect(html`<p title="a > b">${'<'}</p>`.markup).toBe('<p title="a > b">&lt;</p>');
});

test('text with direction characters does not affect the text around it', () => {
  const name = 'Acme \u202e';
  expect(html`<p>${name} asks</p>`.markup).toBe(`<p><bdi>${name}</bdi> asks</p>`);
  expect(html`<p>${[name]}</p>`.markup).toBe(`<p><bdi>${name}</bdi></p>`);
  // No element is used where markup is not possible.
  for (const [open, close] of [
    ['<title>', '</title>'],
    ['<textarea name="a">', '</textarea>'],
    ['<select><option value="1">', '</option></select>'],
  ] as const)
    expect(html([open, close] as unknown as TemplateStringsArray, name).markup).toBe(open + name + close);
  expect(html`<input value="${name}">`.markup).toBe(`<input value="${name}">`);
});

test('a name inside a text becomes an element between tags, and stays isolated elsewhere', () => {
  const text = `${namedText('شركة')} was charged $5.00`;
  expect(html`<p>${text}</p>`.markup).toBe('<p><bdi>شركة</bdi> was charged $5.00</p>');
  expect(html`<p>${`${namedText('<a>')}, ${namedText('b')}`}</p>`.markup).toBe(
    '<p><bdi>&lt;a&gt;</bdi>, <bdi>b</bdi></p>',
  );
  expect(html`<a title="${text}">x</a>`.markup).toBe('<a title="\u2068شركة\u2069 was charged $5.00">x</a>');
  // A name cannot end its own isolation.
  expect(namedText('a\u2069\u202eb\u2067')).toBe('\u2068ab\u2069');
  expect(html`<p>${`\u2068a\u2069 \u202e`}</p>`.markup).toBe('<p><bdi>\u2068a\u2069 \u202e</bdi></p>');
});
