/** A client of the fleets of a tree in memory: requests as kubectl sends them, and watches whose events the test reads. */
import type { ApiRequest, ApiResponse, StreamedResponse } from '../../../../core/apiserver/http/requests.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import type { WholeTree } from '../../../support/whole-tree.ts';

const admin = { name: 'admin', groups: ['system:masters'] };
export const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export interface FleetAnswer {
  /** 0: the answer is not there yet. */
  status: number;
  warnings: string[];
  body: FleetBody;
}

export interface FleetBody {
  readonly kind?: string;
  readonly message?: string;
  readonly metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  readonly items: KubeObject[];
  readonly rows: { cells: (string | number)[]; object: KubeObject }[];
  readonly columnDefinitions: { name: string }[];
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: KubeObject & { code?: number; rows?: { cells: unknown[] }[] };
}

export class FleetClient {
  readonly #tree: WholeTree;

  constructor(tree: WholeTree) {
    this.#tree = tree;
  }

  /** Runs the tree until the answer is complete. */
  async get(at: string, url: string, accept = 'application/json'): Promise<FleetAnswer> {
    let answer: FleetAnswer | undefined;
    let failure: unknown;
    this.#ask(at, url, { headers: { accept } }, new AbortController().signal)
      .then(complete)
      .then((done) => {
        answer = done;
      })
      .catch((error: unknown) => {
        failure = error;
      });
    await this.#tree.until(`an answer to ${url}`, () => answer !== undefined || failure !== undefined);
    if (failure) throw failure;
    return answer!;
  }

  /** The error of a request that fails. */
  async refused(at: string, url: string, request: Partial<ApiRequest> = {}): Promise<BanyanError> {
    let failure: unknown;
    let isAnswered = false;
    this.#ask(at, url, request, new AbortController().signal)
      .then(complete)
      .then(() => {
        isAnswered = true;
      })
      .catch((error: unknown) => {
        failure = error;
      });
    await this.#tree.until(`a refusal of ${url}`, () => isAnswered || failure !== undefined);
    if (failure instanceof BanyanError) return failure;
    throw new Error(`not refused: ${url} (${String(failure)})`);
  }

  watch(at: string, url: string, accept = 'application/json'): Watched {
    const watched = new Watched();
    this.#ask(at, `${url}${url.includes('?') ? '&' : '?'}watch=true`, { headers: { accept } }, watched.signal)
      .then((response) => watched.read(response))
      .catch((error: unknown) => {
        watched.failure = error;
      });
    return watched;
  }

  async #ask(
    at: string,
    url: string,
    request: Partial<ApiRequest>,
    signal: AbortSignal,
  ): Promise<ApiResponse | StreamedResponse> {
    const { pathname, searchParams: query } = new URL(`https://node${url}`);
    const body = () => Promise.resolve(Buffer.from('{}'));
    const readLongYaml = () => Promise.reject(new Error('no YAML is sent here'));
    const asked = {
      method: 'GET',
      path: pathname,
      query,
      headers: {},
      user: admin,
      alsoMay: () => {},
      mustRead: () => {},
      body,
      readLongYaml,
      ...request,
    };
    return this.#tree.urls.get(at)!(asked, signal)!;
  }
}

async function complete(response: ApiResponse | StreamedResponse): Promise<FleetAnswer> {
  const warnings = [response.headers?.warning ?? []].flat();
  if ('body' in response) return { status: response.status, warnings, body: JSON.parse(response.body.toString()) };
  const pieces: Uint8Array[] = [];
  for await (const piece of response.pieces) pieces.push(piece);
  return { status: response.status, warnings, body: JSON.parse(Buffer.concat(pieces).toString()) };
}

export class Watched {
  readonly events: WatchedEvent[] = [];
  warnings: string[] = [];
  failure: unknown;
  isEnded = false;
  readonly #over = new AbortController();
  #paused: Promise<void> = Promise.resolve();

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** For example `ADDED eu.s1 till`, without bookmarks. */
  get lines(): string[] {
    return this.events.filter(({ type }) => type !== 'BOOKMARK').map(lineOf);
  }

  async read(response: ApiResponse | StreamedResponse): Promise<void> {
    if ('body' in response) throw new Error(`no watch: ${response.body.toString()}`);
    this.warnings = [response.headers?.warning ?? []].flat();
    for await (const piece of response.pieces) {
      await this.#paused;
      const lines = Buffer.from(piece).toString().split('\n');
      this.events.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as WatchedEvent));
    }
    this.isEnded = true;
  }

  /** Reads no further. */
  pause(): void {
    this.#paused = new Promise((resolve) => {
      this.goOn = resolve;
    });
  }

  goOn: () => void = () => {};

  end(): void {
    this.#over.abort();
  }
}

function lineOf({ type, object }: WatchedEvent): string {
  if (type === 'ERROR') return `ERROR ${object.code}`;
  return `${type} ${pathOf(object)} ${object.metadata.name}`;
}

export function pathOf({ metadata }: KubeObject): string {
  return metadata.labels?.['banyan.io/path'] ?? '';
}

/** For example `eu.s1 shop/till`. */
export function placesOf({ items }: FleetBody): string[] {
  return items.map((item) => `${pathOf(item)} ${item.metadata.namespace}/${item.metadata.name}`);
}
