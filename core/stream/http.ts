/** HTTP/1.1 over byte streams, one request for each stream. The requests go to the API of a node, or to the API server of an agent's cluster. */
import { request as httpRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { duplexOf } from './duplex.ts';
import type { Ask } from './pass-on.ts';
import type { Endpoint, StreamRouter } from './router.ts';
import { vouchedUser } from './vouching.ts';

/** The API of the node itself. */
export const apiKind = 'api';
/** The API server of the agent's cluster. */
export const clusterKind = 'cluster';

/** The user of the request. */
export interface StreamUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Time until an endpoint has to accept the stream: two seconds for each hop in a deep tree. */
const deadlineMs = 10_000;

export interface HttpDestination {
  readonly path: string;
  readonly kind: string;
  readonly user: StreamUser;
}

/** Makes requests over streams. `at`: the path of this node. If the stream is reset, the request fails with the error of `errorOfReset`. */
export function askOver(router: StreamRouter, at: string, { path, kind, user }: HttpDestination): Ask {
  const { name, groups } = user;
  const request = { path, kind, header: new Uint8Array(0), user: name, groups, deadlineMs, bulk: false };
  const createConnection = () => duplexOf(at, (handler) => router.open(request, handler));
  return ({ method, target, headers }) =>
    httpRequest({ method, path: target, headers: { ...headers, host: 'banyan' }, createConnection });
}

/** An endpoint for HTTP. `take` serves HTTP on the connection, in the name of this user. */
export function httpEndpoint(at: string, take: (connection: Duplex, user: StreamUser) => void): Endpoint {
  return (offer) => {
    const user = vouchedUser(offer.request, at);
    take(
      duplexOf(at, (handler) => offer.accept(handler)),
      user,
    );
  };
}
