/** The raw limit of the benchmark `api`: a server of node:https alone, which answers with the same bytes from memory and stores nothing. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { answerParent } from './forked.ts';

export type RawQuestion =
  | { readonly type: 'listen'; readonly key: Buffer; readonly cert: Buffer; readonly ca: Buffer }
  | {
      readonly type: 'answers';
      /** The body of each GET, by the beginning of its path. The longest beginning counts. */
      readonly gets: Readonly<Record<string, string>>;
      /** The body of each other answer, and the object of each event. */
      readonly object: string;
    };

const json = { 'content-type': 'application/json' };
let bodies: readonly { readonly path: string; readonly body: Buffer }[] = [];
let made = Buffer.alloc(0);
let event = made;
const watchers = new Set<ServerResponse>();

answerParent(async (question: RawQuestion): Promise<number> => {
  if (question.type === 'listen') return await listen(question);
  const { gets, object } = question;
  bodies = Object.entries(gets)
    .toSorted(([a], [b]) => b.length - a.length)
    .map(([path, text]) => ({ path, body: Buffer.from(text) }));
  made = Buffer.from(object);
  event = Buffer.from(`{"type":"MODIFIED","object":${object.trim()}}\n`);
  return bodies.length;
});

async function listen({ key, cert, ca }: Extract<RawQuestion, { type: 'listen' }>): Promise<number> {
  // Messages between processes make arrays of bytes out of buffers.
  const [keyPem, certPem, caPem] = [key, cert, ca].map((bytes) => Buffer.from(bytes));
  const server = createServer({ key: keyPem, cert: certPem, ca: caPem, requestCert: true }, serve);
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const { url = '', method } = request;
  if (method !== 'GET') {
    request.resume();
    request.once('end', () => {
      if (method === 'PATCH') for (const watcher of watchers) watcher.write(event);
      answer(response, made);
    });
  } else if (url.includes('watch=1')) {
    watchers.add(response);
    response.once('close', () => watchers.delete(response));
    response.writeHead(200, json);
    response.flushHeaders();
  } else {
    answer(response, bodies.find(({ path }) => url.startsWith(path))!.body);
  }
}

function answer(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { ...json, 'content-length': body.length });
  response.end(body);
}
