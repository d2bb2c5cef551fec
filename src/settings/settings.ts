import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from '../runtime/config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined if the text is not valid. */
type Parse<T> = (text: string) => T | undefined;

/** The value of a setting, and the variable that it came from, for messages. */
export type Given = { readonly name: string; readonly text: string | undefined };

export type Settings = ReturnType<typeof settingsIn>;

/** Reads settings from the environment. What is not set, or only blank, is undefined; what is invalid throws {@link ConfigError}. */
export function settingsIn(env: Environment) {
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;

  /** @param rule follows "must be" */
  function read<T>(name: string, rule: string, parse: Parse<T>): T | undefined {
    const given = text(name);
    if (given === undefined) return undefined;
    const parsed = parse(given);
    if (parsed === undefined) throw new ConfigError(name, `must be ${rule}, got "${given}"`);
    return parsed;
  }

  return {
    text,
    read,

    /** A whole number from 1. */
    count: (name: string, most: number, what = 'a whole number'): number | undefined =>
      read(name, `${what}, 1 to ${most}`, (given) => {
        const parsed = upTo(decimal(given), most);
        return Number.isInteger(parsed) && parsed !== 0 ? parsed : undefined;
      }),

    flag: (name: string): boolean | undefined =>
      read(name, 'true or false', (given) => {
        if (given === 'true') return true;
        return given === 'false' ? false : undefined;
      }),

    /** An ISO 8601 duration from 0 seconds up to `longest`, in milliseconds. */
    duration: (name: string, longest: string): number | undefined =>
      read(name, `an ISO 8601 duration, PT0S to ${longest}`, (given) => {
        const parsed = milliseconds(given);
        return parsed === undefined || parsed < 0 ? undefined : upTo(parsed, milliseconds(longest) ?? 0);
      }),

    /** A setting that a file may hold, as Docker and Kubernetes mount secrets: `NAME_FILE` names the file. */
    secret(setting: string): Given {
      const name = `${setting}_FILE`;
      const file = text(name);
      if (file === undefined) return { name: setting, text: text(setting) };
      if (text(setting) !== undefined) throw new ConfigError(name, `replaces ${setting}: set only one of them`);
      const secret = secretIn(file, name).trim();
      if (secret === '') throw new ConfigError(name, `${file} is empty`);
      return { name, text: secret };
    },
  };
}

/** Refuses notations that only JavaScript accepts: 0x10, 1e3. */
export const decimal: Parse<number> = (text) => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined);

export const upTo = (number: number | undefined, most: number): number | undefined =>
  number === undefined || number > most ? undefined : number;

export const matching =
  (pattern: RegExp): Parse<string> =>
  (text) =>
    pattern.test(text) ? text : undefined;

export const oneOf =
  (allowed: readonly string[]): Parse<string> =>
  (text) =>
    allowed.includes(text) ? text : undefined;

/** An ISO 8601 duration. A day is 24 hours here; weeks, months and years are refused. */
export const milliseconds: Parse<number> = (text) => {
  try {
    return Temporal.Duration.from(text).total('milliseconds');
  } catch {
    return undefined;
  }
};

function secretIn(file: string, name: string): string {
  try {
    // Reading a device such as /dev/zero would never end.
    if (statSync(file).isFile()) return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(name, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(name, `${file} is not a file`);
}

/** A URL with one of these protocols. The message omits the value, which may contain a password. */
export function url({ name, text }: Given, protocols: readonly string[]): string | undefined {
  if (text === undefined || protocols.some((protocol) => text.startsWith(`${protocol}//`))) return text;
  throw new ConfigError(name, `must start with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
}
