import { eventually } from '../eventually.ts';
import { click, fill, SHOWN, waitUntil } from './controls.ts';
import { KEYS, type Tab } from './tab.ts';

export type User = { readonly email: string; readonly password: string };

const IS_SIGNED_IN = `location.pathname.startsWith('/console/') && document.querySelector('.rail')`;

/** Signs in on the page of a tab that asks for it. */
export async function signInOn(page: Tab, { email, password }: User): Promise<void> {
  await fill(page, 'E-mail', email);
  await fill(page, 'Password', password);
  await page.type(KEYS.enter);
}

/** Signs in to the console at a URL. */
export async function signIn(tab: Tab, url: string, user: User): Promise<void> {
  await tab.open(`${url}/console`);
  // A test that failed may have left a session.
  if (await tab.evaluate<boolean>(`Boolean(${IS_SIGNED_IN})`)) await signOut(tab, url);
  await tab.open(`${url}/console`);
  await signInOn(tab, user);
  await waitUntil(tab, IS_SIGNED_IN);
}

export async function signOut(tab: Tab, url: string): Promise<void> {
  await tab.resize(1440, 900);
  await eventually(async () => {
    await tab.open(`${url}/console`);
    // Consent in another tab renews the session: for a moment, the cookie of this one names a session that has ended.
    if (await tab.evaluate<boolean>(`Boolean(${IS_SIGNED_IN})`)) return;
    throw new Error(`The tab is not signed in, but shows ${await tab.evaluate<string>(SHOWN)}`);
  });
  await click(tab, 'Sign out');
  await waitUntil(tab, `document.querySelector('h1').textContent === 'You are signed out'`);
}
