/** The load of the benchmark `api`, as a process of its own. Each question is one measurement at one server. */
import { ApiConnection, type RequestForm, requestBytes } from './api-connection.ts';
import { answerParent } from './forked.ts';
import type { Credentials } from './hostile-target.ts';

export type LoadQuestion = { readonly credentials: Credentials } & (
  | {
      /** One request for each number from 0 to `count` - 1, over all connections. Answer: milliseconds for all of them. */
      readonly type: 'requests';
      readonly connections: number;
      readonly count: number;
      /** `#` in the texts stands for the number of the request. */
      readonly request: RequestForm;
    }
  | {
      /** The same path, again and again. Answer: milliseconds of each request. */
      readonly type: 'reads';
      readonly path: string;
      readonly times: number;
    }
  | {
      /** One page after the other, by continue tokens. Answer: milliseconds of each page. */
      readonly type: 'pages';
      readonly path: string;
      readonly limit: number;
      readonly pages: number;
    }
  | {
      /** Changes of one object that all watchers get. Answer: milliseconds from each request until the last watcher has its event. */
      readonly type: 'changes';
      readonly watchers: number;
      readonly watched: string;
      readonly changed: string;
      readonly times: number;
    }
);

const mergePatch = 'application/merge-patch+json';
/** Opened at the same time. More handshakes at once would end in time-outs of a busy server. */
const openedAtOnce = 50;

answerParent(async (question: LoadQuestion): Promise<number[]> => {
  const { credentials } = question;
  switch (question.type) {
    case 'requests':
      return [await requests(credentials, question)];
    case 'reads':
      return await withConnection(credentials, async (connection) => {
        const request = requestBytes(credentials, { method: 'GET', path: question.path });
        const tookMs: number[] = [];
        for (let i = 0; i < question.times; i++) tookMs.push((await answered(connection, request)).ms);
        return tookMs;
      });
    case 'pages':
      return await withConnection(credentials, (connection) => pages(connection, question));
    case 'changes':
      return await withConnection(credentials, (connection) => changes(connection, question));
  }
});

async function withConnection<T>(credentials: Credentials, use: (connection: ApiConnection) => Promise<T>): Promise<T> {
  const connection = await ApiConnection.open(credentials);
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

async function answered(connection: ApiConnection, request: Buffer): Promise<{ ms: number; start: string }> {
  const startMs = performance.now();
  const { status, start } = await connection.ask(request);
  const ms = performance.now() - startMs;
  if (status !== 200 && status !== 201) throw new Error(`status ${status}: ${start}`);
  return { ms, start };
}

async function requests(
  credentials: Credentials,
  question: Extract<LoadQuestion, { type: 'requests' }>,
): Promise<number> {
  const { count, request } = question;
  const filled = (text: string, i: number) => text.replaceAll('#', String(i));
  // The requests are made before the clock starts.
  const all = Array.from({ length: count }, (_, i) => {
    const { method, path, body } = request;
    const form = { method, path: filled(path, i) };
    return requestBytes(credentials, body ? { ...form, body: { ...body, text: filled(body.text, i) } } : form);
  });
  const connections = await opened(credentials, question.connections);
  let next = 0;
  const startMs = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let i = next++; i < count; i = next++) await answered(connection, all[i]!);
    }),
  );
  const ms = performance.now() - startMs;
  for (const connection of connections) connection.close();
  return ms;
}

async function pages(connection: ApiConnection, question: Extract<LoadQuestion, { type: 'pages' }>): Promise<number[]> {
  const { credentials, limit } = question;
  const tookMs: number[] = [];
  let next = '';
  for (let page = 0; page < question.pages; page++) {
    const token = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
    const path = `${question.path}?limit=${limit}${token}`;
    const { ms, start } = await answered(connection, requestBytes(credentials, { method: 'GET', path }));
    tookMs.push(ms);
    next = /"continue":"([^"]*)"/.exec(start)?.[1] ?? '';
    if (next === '' && page < question.pages - 1) throw new Error(`the list ended after ${page + 1} pages`);
  }
  return tookMs;
}

async function changes(
  connection: ApiConnection,
  question: Extract<LoadQuestion, { type: 'changes' }>,
): Promise<number[]> {
  const { watched, changed, times, credentials } = question;
  const watchers = await opened(credentials, question.watchers);
  const list = await answered(connection, requestBytes(credentials, { method: 'GET', path: watched }));
  const since = /"resourceVersion":"(\d+)"/.exec(list.start)?.[1];
  const watch = requestBytes(credentials, { method: 'GET', path: `${watched}?watch=1&resourceVersion=${since}` });
  let waiting = 0;
  let came = () => {};
  await Promise.all(
    watchers.map((watcher) => {
      let last = 0;
      return watcher.watch(watch, (bytes) => {
        // Each event is a line that ends with a brace. The bytes of one event may come in several parts.
        for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
          if ((at === 0 ? last : bytes[at - 1]) === 0x7d && --waiting === 0) came();
        }
        last = bytes.at(-1)!;
      });
    }),
  );
  const tookMs: number[] = [];
  for (let i = 0; i < times; i++) {
    const startMs = performance.now();
    waiting = watchers.length;
    const all = new Promise<void>((resolve) => {
      came = resolve;
    });
    const body = { type: mergePatch, text: JSON.stringify({ data: { round: `${process.pid}-${startMs}` } }) };
    await Promise.all([answered(connection, requestBytes(credentials, { method: 'PATCH', path: changed, body })), all]);
    tookMs.push(performance.now() - startMs);
  }
  for (const watcher of watchers) watcher.close();
  return tookMs;
}

async function opened(credentials: Credentials, count: number): Promise<ApiConnection[]> {
  const connections: ApiConnection[] = [];
  while (connections.length < count) {
    const some = Math.min(openedAtOnce, count - connections.length);
    connections.push(...(await Promise.all(Array.from({ length: some }, () => ApiConnection.open(credentials)))));
  }
  return connections;
}
