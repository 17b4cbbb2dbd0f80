/**
 * Serves the cluster's API to people who are above the agent in the tree. Their requests arrive by streams. The agent passes them to the API server with its
 * own credentials, in the names of these people (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation). The cluster's
 * own roles decide what these people may do.
 */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { kubernetesStatusOf } from '../../../core/apiserver/http/status.ts';
import type { UserInfo } from '../../../core/apiserver/space.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { type Ask, answerOf, type ForwardedRequest, passOn, passUpgrade } from '../../../core/stream/pass-on.ts';
import { remedyOf } from './plain-messages.ts';

/** Who may send requests, and under which names the cluster sees them. See `streams.cluster` of the configuration. */
export interface Visitors {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  readonly prefix: string;
}

export interface ClusterProxyPorts {
  /** Absent: nobody may send requests. */
  readonly visitors: Visitors | undefined;
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

/** Returns the headers that name the user and the user's groups. Throws Forbidden for a user whom the configuration of the site does not name. */
export function impersonation({ name, groups }: UserInfo, visitors: Visitors | undefined): OutgoingHttpHeaders {
  if (!visitors?.users.some((user) => user === '*' || user === name)) {
    const remedy = `name ${name} in streams.cluster.users of the agent's configuration (in the chart: agent.streams.users)`;
    throw new BanyanError('Forbidden', `this site does not let ${name} send requests to its cluster: ${remedy}`);
  }
  const as = (known: string) => Buffer.from(`${visitors.prefix}${known}`).toString('latin1');
  const sentGroups = groups.filter((group) => visitors.groups.includes(group));
  return {
    'impersonate-user': as(name),
    ...(sentGroups.length > 0 ? { 'impersonate-group': sentGroups.map(as) } : {}),
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
