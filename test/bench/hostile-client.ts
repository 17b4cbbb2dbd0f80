/**
 * The hostile clients as a process of their own, so that their work delays no measurement. It sends one attack over several connections, each request as
 * soon as the answer before it has come, until it is told to stop.
 */
import { Agent, request } from 'node:https';
import { answerParent } from './forked.ts';
import { type Attack, attacks } from './hostile-bodies.ts';
import { type ConnectionAttack, connectionAttacks } from './hostile-connections.ts';
import { type Credentials, credentialsOf } from './hostile-target.ts';

export type HostileQuestion =
  | {
      readonly type: 'start';
      readonly kubeconfig: string;
      readonly context: string;
      readonly attack: string;
      readonly connections: number;
    }
  | { readonly type: 'stop' };

/** How often each status came. 0: the connection broke, or no answer came. */
export type Statuses = Record<number, number>;

let running: { end(): Statuses } | undefined;
answerParent(async (question: HostileQuestion): Promise<Statuses> => {
  if (question.type === 'stop') {
    const statuses = running?.end() ?? {};
    running = undefined;
    return statuses;
  }
  const ofConnections = connectionAttacks.find(({ name }) => name === question.attack);
  const credentials = credentialsOf(question.kubeconfig, question.context);
  if (ofConnections) {
    running = runningOf(credentials, ofConnections);
    return {};
  }
  const attack = attacks.find(({ name }) => name === question.attack)!;
  running = start(credentials, attack, question.connections);
  return {};
});

/** The counts of such an attack are not statuses, and are not reported. */
function runningOf(credentials: Credentials, attack: ConnectionAttack): { end(): Statuses } {
  let isOver = false;
  void attack.run(credentials, () => isOver);
  return {
    end: () => {
      isOver = true;
      return {};
    },
  };
}

let sent = 0;

function start(credentials: Credentials, attack: Attack, connections: number): { end(): Statuses } {
  const statuses: Statuses = {};
  let isOver = false;
  const agents = Array.from(
    { length: connections },
    () => new Agent({ ...credentials.tls, keepAlive: true, maxSockets: 1 }),
  );
  const anonymous = attack.request(0).headers?.authorization !== undefined;
  for (const agent of agents) {
    if (anonymous) {
      agent.options.cert = undefined;
      agent.options.key = undefined;
    }
    void (async () => {
      // Answers that nobody reads hold their connection: each of these clients opens 10 requests and waits.
      const most = attack.isRead === false ? 10 : Number.POSITIVE_INFINITY;
      for (let i = 0; i < most && !isOver; i++) {
        const status = await once(credentials.server, agent, attack);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    })();
  }
  return {
    end: () => {
      isOver = true;
      for (const agent of agents) agent.destroy();
      return statuses;
    },
  };
}

/** The status of the answer, after all of it has been read. */
function once(server: string, agent: Agent, attack: Attack): Promise<number> {
  const { method, path, type, body, headers } = attack.request(sent++);
  const isRead = attack.isRead !== false;
  return new Promise((resolve) => {
    const options = {
      method,
      // A connection of its own for each answer that nobody reads.
      agent: isRead ? agent : new Agent({ ...agent.options, maxSockets: 1 }),
      headers: { ...headers, ...(body ? { 'content-type': type, 'content-length': body.length } : {}) },
    };
    const asked = request(`${server}${path}`, options, (answer) => {
      if (!isRead) return resolve(answer.statusCode ?? 0);
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
      answer.once('error', () => resolve(0));
    });
    asked.once('error', () => resolve(0));
    asked.end(body);
  });
}
