/** The servers that the benchmark `api` compares, and their objects. */
import type { ChildProcess } from 'node:child_process';
import type { RequestForm } from './api-connection.ts';
import type { LoadQuestion } from './api-load.ts';
import type { RawQuestion } from './api-raw.ts';
import { credentialsOf as certificateOf, makeAuthority } from './credentials.ts';
import { type Credentials, TargetClient } from './hostile-target.ts';
import { ask, type Scratch } from './scratch.ts';

export const small = '/api/v1/namespaces/small/configmaps';
export const large = '/api/v1/namespaces/large/configmaps';
export const single = '/api/v1/namespaces/single/configmaps';
/** Has one object. */
export const watched = '/api/v1/namespaces/watched/configmaps';
export const smallObjects = 1_000;
export const largeObjects = 10_000;
export const pageObjects = 500;
/** The text of an object of 2 KB. */
const text = 'x'.repeat(1_700);

type Question = LoadQuestion extends infer Q ? (Q extends unknown ? Omit<Q, 'credentials'> : never) : never;
export type Ask = (question: Question) => Promise<number[]>;

interface Target {
  readonly credentials: Credentials;
  readonly ask: Ask;
}

export function targetOf(load: ChildProcess, credentials: Credentials): Target {
  return { credentials, ask: (question) => ask(load, { credentials, ...question } as LoadQuestion) };
}

/** Creates the namespaces, and the objects that the measurements read and change. */
export async function prepare(target: Target, clients: number): Promise<void> {
  const client = new TargetClient(target.credentials);
  for (const path of [small, large, single, watched]) {
    const name = path.split('/')[4];
    await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  client.close();
  await rateOf(target.ask, createIn(small, 'small-#'), { clients, count: smallObjects });
  await rateOf(target.ask, createIn(watched, 'watched-#'), { clients: 1, count: 1 });
}

/** A server of node:https that has answers of another server in memory. `learn` copies them. */
export async function rawTarget(
  scratch: Scratch,
  load: ChildProcess,
  of: Target,
): Promise<Target & { learn(): Promise<void> }> {
  const {
    caPem: ca,
    certPem: cert,
    keyPem: key,
  } = await certificateOf(await makeAuthority(), {
    role: 'center',
    path: '',
  });
  const child = scratch.fork(new URL('api-raw.ts', import.meta.url));
  const port = await ask<number>(child, { type: 'listen', ca, cert, key } satisfies RawQuestion);
  const target = targetOf(load, { server: `https://127.0.0.1:${port}`, tls: { ca, cert, key } });
  const learn = async () => {
    const client = new TargetClient(of.credentials);
    const object = (await client.get(`${small}/small-0`)).text;
    const gets: Record<string, string> = { [`${small}/`]: object };
    for (const path of [small, large, `${large}?limit=${pageObjects}`, watched])
      gets[path] = (await client.get(path)).text;
    client.close();
    await ask(child, { type: 'answers', gets, object } satisfies RawQuestion);
  };
  return { ...target, learn };
}

/** `#` in the name stands for the number of the request. */
export function createIn(path: string, name: string): RequestForm {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { app: 'bench' } }, data: { text } };
  return { method: 'POST', path, body: { type: 'application/json', text: JSON.stringify(object) } };
}

/** Requests for a second. */
export async function rateOf(
  ask: Ask,
  request: RequestForm,
  { clients, count }: { readonly clients: number; readonly count: number },
): Promise<number> {
  const [ms] = await ask({ type: 'requests', connections: clients, count, request });
  return (count * 1_000) / ms!;
}
