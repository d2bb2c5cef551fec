import type { ServiceProcess } from './service-process.ts';

/** The date this many days from now, in UTC. */
export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Calls the REST API: GET, or POST when there is a body. */
export async function call({ url }: Pick<ServiceProcess, 'url'>, key: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  const parsed = JSON.parse(await response.text());
  return { status: response.status, body: parsed };
}
