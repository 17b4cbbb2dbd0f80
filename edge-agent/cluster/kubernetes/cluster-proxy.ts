/**
 * Serves the cluster's API to people who are above the agent in the tree. Their requests arrive by streams. The agent passes them to the API server with its
 * own credentials, in the names of these people (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation). The cluster's
 * own roles decide what these people may do.
 */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { privilegedGroup } from '../../../core/access/subjects.ts';
import { kubernetesStatusOf } from '../../../core/apiserver/http/status.ts';
import type { UserInfo } from '../../../core/apiserver/space.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { type Ask, answerOf, type ForwardedRequest, passOn, passUpgrade } from '../../../core/stream/pass-on.ts';
import type { FromAbove } from '../from-above.ts';
import { remedyOf } from './plain-messages.ts';

/** Who may send requests, and which of their groups the cluster sees. See `access.fromAbove` and `streams.cluster` of the configuration. */
export interface Visitors {
  readonly fromAbove: FromAbove;
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}

export interface ClusterProxyPorts {
  readonly visitors: Visitors;
  readonly log: Logger;
  /** Sends a request to the API server, with the agent's credentials. */
  readonly ask: Ask;
}

export class ClusterProxy {
  readonly #ports: ClusterProxyPorts;
  readonly #users = new WeakMap<object, UserInfo>();
  readonly #server = createServer({ requestTimeout: 0 });

  constructor(ports: ClusterProxyPorts) {
    this.#ports = ports;
    this.#server.on('request', (request, response) => {
      const failed = (error: unknown) => this.#fail(request, response, error);
      void passOn(request, response, { target: request.url ?? '/', ask: this.#askFor(request), failed });
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const failed = (error: unknown) => this.#fail(request, answerOf(request, socket), error);
      void passUpgrade(request, socket, head, { target: request.url ?? '/', ask: this.#askFor(request), failed });
    });
  }

  /** Serves HTTP/1.1 on the connection. */
  take(connection: Duplex, user: UserInfo): void {
    connection.on('error', (error) => this.#ports.log.debug({ reason: error.message }, 'a connection broke'));
    this.#users.set(connection, user);
    this.#server.emit('connection', connection);
  }

  #askFor({ socket }: IncomingMessage): Ask {
    return (passed) => {
      const user = this.#users.get(socket)!;
      const headers = { ...withoutIdentity(passed.headers), ...impersonation(user, this.#ports.visitors) };
      const { method, target } = passed;
      const isRead = method === 'GET' && passed.headers.upgrade === undefined;
      this.#ports.log[isRead ? 'debug' : 'info'](
        { user: user.name, method, target },
        'a request from above goes to the cluster',
      );
      return this.#ports.ask({ method, target, headers });
    };
  }

  #fail({ url }: IncomingMessage, response: ServerResponse | undefined, error: unknown): void {
    const failure = error instanceof BanyanError ? error : unreached(error);
    this.#ports.log.debug({ url, reason: failure.message }, 'a request from above failed');
    const { http, body } = kubernetesStatusOf(failure);
    response?.writeHead(http, { 'content-type': 'application/json' });
    response?.end(`${JSON.stringify(body)}\n`);
  }
}

/**
 * Returns the headers that name the user and the user's groups. The names have the path of the node that has authenticated the user, so none of them is a name
 * that the cluster knows already. Throws Forbidden for a user whom the configuration of the site does not name.
 */
export function impersonation({ name, groups }: UserInfo, { fromAbove, ...visitors }: Visitors): OutgoingHttpHeaders {
  if (fromAbove === 'cluster-admin') return headersOf(name, [privilegedGroup]);
  if (!visitors.users?.some((user) => user === '*' || user === name)) {
    const remedy = `name ${name} in streams.cluster.users of the agent's configuration (in the chart: agent.streams.users)`;
    throw new BanyanError('Forbidden', `this site does not let ${name} send requests to its cluster: ${remedy}`);
  }
  return headersOf(
    name,
    groups.filter((group) => visitors.groups?.some((known) => known === '*' || known === group)),
  );
}

function headersOf(name: string, groups: readonly string[]): OutgoingHttpHeaders {
  const encoded = (text: string) => Buffer.from(text).toString('latin1');
  return {
    'impersonate-user': encoded(name),
    ...(groups.length > 0 ? { 'impersonate-group': groups.map(encoded) } : {}),
  };
}

/** Removes all headers about identity. So only the agent's own identity headers reach the API server. */
function withoutIdentity(headers: ForwardedRequest['headers']): OutgoingHttpHeaders {
  const isIdentity = (name: string) => /^(authorization|cookie|impersonate-.*|x-remote-.*|host)$/.test(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isIdentity(name)));
}

function unreached(error: unknown): BanyanError {
  const remedy = remedyOf(error);
  const message = `the cluster's API server can't be reached: ${describeError(error)}${remedy && `; ${remedy}`}`;
  return new BanyanError('Unavailable', message, {}, { cause: error });
}
