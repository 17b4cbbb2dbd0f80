/** A client of the API of a node that keeps what it was told, as informers do: it lists, watches, and lists again after 410. Objects are kept by uid. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:https';
import { parse } from 'yaml';

interface Kubeconfig {
  readonly clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

export interface KeptObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly labels: Record<string, string>;
  };
  readonly spec?: { readonly replicas?: number };
  readonly status?: object;
}

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: KeptObject[];
}

const pageLimit = 3;

export class FleetWatcher {
  readonly objects = new Map<string, KeptObject>();
  /** How often the client has listed. */
  lists = 0;
  events = 0;
  bookmarks = 0;
  /** Any other error than one that the client handles. */
  failure: unknown;
  readonly #agent: Agent;
  readonly #url: string;
  /** Ends each request, whichever step the client is at. */
  readonly #over = new AbortController();
  readonly #done: Promise<void>;

  constructor(kubeconfig: string, context: string, path: string) {
    const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const { cluster } = config.clusters.find(({ name }) => name === context)!;
    const { user } = config.users[0]!;
    const decoded = (data: string) => Buffer.from(data, 'base64');
    this.#url = `${cluster.server}${path}`;
    this.#agent = new Agent({
      keepAlive: true,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    });
    this.#done = this.#run().catch((error: unknown) => {
      if (!this.#over.signal.aborted) this.failure = error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#done;
    this.#agent.destroy();
  }

  /** All objects, read page by page. */
  async list(): Promise<{ objects: KeptObject[]; version: string } | undefined> {
    const objects: KeptObject[] = [];
    let version = '';
    let token = '';
    do {
      const { status, text } = await this.#get(`?limit=${pageLimit}&continue=${token}`);
      if (status === 410) return undefined;
      if (status !== 200) throw new Error(`a list has status ${status}: ${text}`);
      const { items, metadata } = JSON.parse(text) as List;
      objects.push(...items);
      version ||= metadata.resourceVersion;
      token = metadata.continue ?? '';
    } while (token !== '');
    return { objects, version };
  }

  async #run(): Promise<void> {
    let version = '';
    while (!this.#over.signal.aborted) {
      if (version === '') {
        const listed = await this.list();
        if (!listed) continue;
        this.lists += 1;
        this.objects.clear();
        for (const object of listed.objects) this.objects.set(object.metadata.uid, object);
        version = listed.version;
      }
      version = await this.#watchFrom(version);
    }
  }

  /** Returns the version from which the next watch goes on. Empty: list again. */
  async #watchFrom(from: string): Promise<string> {
    const answer = await this.#answer(`?watch=true&allowWatchBookmarks=true&resourceVersion=${from}`);
    if (answer.statusCode === 410) {
      answer.resume();
      return '';
    }
    let version = from;
    let rest = '';
    try {
      for await (const chunk of answer) {
        const lines = `${rest}${(chunk as Buffer).toString()}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) version = this.#take(JSON.parse(line) as { type: string; object: KeptObject });
        if (version === '') break;
      }
    } catch {
      // The connection broke. The next watch goes on.
    }
    return version;
  }

  #take({ type, object }: { readonly type: string; readonly object: KeptObject }): string {
    if (type === 'ERROR') return '';
    if (type === 'BOOKMARK') this.bookmarks += 1;
    else if (type === 'DELETED') this.objects.delete(object.metadata.uid);
    else this.objects.set(object.metadata.uid, object);
    this.events += 1;
    return object.metadata.resourceVersion;
  }

  async #get(query: string): Promise<{ status: number; text: string }> {
    const answer = await this.#answer(query);
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return { status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
  }

  #answer(query: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get(`${this.#url}${query}`, { agent: this.#agent, signal: this.#over.signal }, resolve).once('error', reject);
    });
  }
}

/** What two clients must agree on. */
export function shownBy(objects: Iterable<KeptObject>): string[] {
  return [...objects]
    .map(({ metadata: { uid, generation, labels }, spec, status }) =>
      JSON.stringify({ uid, generation, labels, spec, status }),
    )
    .sort();
}
