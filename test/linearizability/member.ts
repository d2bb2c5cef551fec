import pRetry from 'p-retry';
import { type Proxy as ServerProxy, startProxyTo } from '../proxy.ts';
import { type Environment, type NodeProcess, startNode } from '../service/node-process.ts';

/** How often a process is started again. */
const STARTS = 5;
const SERVERS = ['EVENTSTORE_URL', 'MONGODB_URL'] as const;

/** A place for a process of the service, with proxies of its own to the servers in its settings. */
export class Member {
  readonly name: string;
  readonly proxies: readonly ServerProxy[];
  /** Whether a fault is being made. */
  isDisturbed = false;
  readonly #settings: Environment;
  readonly #onBroken: (what: string) => void;
  #process: NodeProcess;
  #isKilled = false;

  private constructor(
    name: string,
    { proxies, settings, process }: { proxies: readonly ServerProxy[]; settings: Environment; process: NodeProcess },
    onBroken: (what: string) => void,
  ) {
    this.name = name;
    this.proxies = proxies;
    this.#settings = settings;
    this.#onBroken = onBroken;
    this.#process = process;
    this.#watch();
  }

  /** @param onBroken is told of a process that ends by itself */
  static async start(
    { name, port, settings }: { readonly name: string; readonly port: number; readonly settings: Environment },
    onBroken: (what: string) => void,
  ): Promise<Member> {
    const servers = SERVERS.filter((server) => settings[server] !== undefined);
    const proxies = await Promise.all(servers.map((server) => startProxyTo(settings[server] ?? '')));
    const urls = Object.fromEntries(servers.map((server, index) => [server, proxies[index]?.url ?? '']));
    const own = { ...settings, ...urls };
    return new Member(name, { proxies, settings: own, process: await startIn({ ...own, PORT: `${port}` }) }, onBroken);
  }

  get url(): string {
    return this.#process.url;
  }

  get pid(): number {
    return this.#process.pid;
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    await this.#process.end('SIGKILL');
  }

  /**
   * Starts another process in its place, on another port: the former may be taken meanwhile. One that does not reach a server in time ends,
   * and is started again, as a supervisor would.
   */
  async restart(): Promise<void> {
    this.#process = await pRetry(() => startIn(this.#settings), { retries: STARTS, minTimeout: 100 });
    this.#isKilled = false;
    this.#watch();
  }

  async hasCaughtUp(): Promise<boolean> {
    const response = await fetch(`${this.url}/readyz`);
    const { eventsBehind } = JSON.parse(await response.text());
    return response.ok && eventsBehind === 0;
  }

  async stop(): Promise<void> {
    await this.kill();
    for (const proxy of this.proxies) proxy.close();
  }

  #watch(): void {
    const { ended, output } = this.#process;
    void ended.then((code) => {
      if (!this.#isKilled) this.#onBroken(`${this.name} ended by itself with ${code}: ${output.stderr}`);
    });
  }
}

const startIn = (settings: Environment): Promise<NodeProcess> => startNode('src/main.js', '/readyz', settings);
