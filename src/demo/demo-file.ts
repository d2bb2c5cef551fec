import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '../runtime/private-file.ts';

export type DemoUser = { readonly email: string; readonly password: string };
/** The content of `DATA_DIR/demo.json`: everything needed to try the service. */
export type Demo = {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly communities: readonly {
    readonly id: number;
    readonly name: string;
    readonly timeZone: string;
    readonly apiKey: string;
    readonly user: DemoUser;
    readonly spaces: readonly { readonly id: number; readonly name: string; readonly active: boolean }[];
  }[];
  readonly brands: readonly {
    readonly id: number;
    readonly name: string;
    readonly apiKey: string;
    readonly user: DemoUser;
  }[];
};

type DemoLocation = { readonly dataDir: string; readonly publicUrl: string };

/** The demo data of an earlier start, with the current URLs. */
export function readDemoFile({ dataDir, publicUrl }: DemoLocation): Demo | undefined {
  const file = demoFile(dataDir);
  if (!existsSync(file)) return undefined;
  const demo: Demo = JSON.parse(readFileSync(file, 'utf8'));
  return writeDemoFile({ dataDir, publicUrl }, demo);
}

/** Writes `DATA_DIR/demo.json`. @returns its content */
export function writeDemoFile({ dataDir, publicUrl }: DemoLocation, data: Pick<Demo, 'communities' | 'brands'>): Demo {
  const { communities, brands } = data;
  const demo: Demo = { baseUrl: `${publicUrl}/api/v1`, authUrl: publicUrl, communities, brands };
  writePrivate(demoFile(dataDir), `${JSON.stringify(demo, null, 2)}\n`, 'replace');
  return demo;
}

/** A sign-in of a community and one of a brand, and the file that holds all. */
export function demoSignIns({ communities: [community], brands: [brand] }: Demo, dataDir: string) {
  const accounts = [community, brand].filter((account) => account !== undefined);
  return { file: demoFile(dataDir), accounts: accounts.map(({ name, user }) => ({ name, ...user })) };
}

const demoFile = (dataDir: string): string => join(dataDir, 'demo.json');
