import { expect, test } from 'vitest';
import { browserName } from '../../src/console/sessions/browser-name.ts';

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
  [`${WINDOWS} Chrome/142.0.0.0 Safari/537.36`, 'Chrome on Windows'],
  [`${WINDOWS} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`, 'Edge on Windows'],
  [`${WINDOWS} Chrome/142.0.0.0 Safari/537.36 OPR/120.0.0.0`, 'Opera on Windows'],
  [`${MAC} Version/18.1 Safari/605.1.15`, 'Safari on macOS'],
  [`${IPHONE} Version/18.1 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
  [`${IPHONE} CriOS/142.0.0.0 Mobile/15E148 Safari/604.1`, 'Chrome on iPhone'],
  [`${IPHONE.replaceAll('iPhone', 'iPad')} FxiOS/145.0 Mobile/15E148 Safari/605.1.15`, 'Firefox on iPad'],
  [`${ANDROID} Chrome/142.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [`${ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`, 'Samsung Internet on Android'],
  ['Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36', 'Chrome on ChromeOS'],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/142.0.0.0 Safari/537.36', 'Chrome on Linux'],
  ['Firefox/145.0', 'Firefox'],
  ['Mozilla/5.0 (Windows NT 10.0)', 'Unknown browser on Windows'],
])('names the browser and the system of %s', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});

test.each([undefined, '', 'curl/8.5.0', '<script>alert(1)</script>', 'ada@example.com', 'x'.repeat(16_000)])(
  'takes nothing from a header that names neither: %s',
  (userAgent) => {
    expect(browserName(userAgent)).toBe('Unknown browser');
  },
);

test('takes at most 60 characters, and none of the header itself', () => {
  const name = browserName(`${'SamsungBrowser/ '.repeat(500)}Android 14 secret`);
  expect(name).toBe('Samsung Internet on Android');
});
