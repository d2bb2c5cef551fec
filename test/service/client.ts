import type { ServiceProcess } from './service-process.ts';

/** Calls the REST API: GET, or POST when there is a body. */
export async function call({ url }: Pick<ServiceProcess, 'url'>, key: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  const parsed = JSON.parse(await response.text());
  return { status: response.status, body: parsed };
}
