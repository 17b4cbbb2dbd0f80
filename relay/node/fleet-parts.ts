/** The fleets of a node, and the questions of its parent about them. */
import type { NodeConfig } from '../config/config.ts';
import { ChildQuestions } from '../fleet/child-questions.ts';
import type { Away } from '../fleet/fleet-lines.ts';
import { Fleets } from '../fleet/fleets.ts';
import type { FleetParts, NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';

export function fleetParts({ path }: NodeConfig, { store, clock, defer }: NodePorts, parts: NodeParts): FleetParts {
  const { mailboxes, childRegistry, replicas, spaces } = parts.nodeState();
  const questions = new ChildQuestions({
    path,
    clock,
    streams: (child) => parts.sessions().streams(child),
    isChild: (name) => replicas.members(name).some((child) => childRegistry.children.has(child)),
  });
  const fleets = new Fleets({
    store,
    clock,
    path,
    defer,
    mailboxes,
    children: childRegistry.children,
    counts: (child) => replicas.standing(child).counts,
    connection: (child) => parts.sessions().status(child),
    ask: (child, asker, question, signal) => questions.ask(child, asker, question, signal),
    kindsOf: (source) => (spaces.own(source) ?? parts.up().views.resolve(`/spaces/${source}`))?.kinds,
    resting: (child) => questions.resting(child),
    disconnectedBelow: () => disconnectedBelow(parts, clock.wallMs()),
  });
  return { fleets, questions };
}

function* disconnectedBelow(parts: NodeParts, wallMs: number): Generator<Away> {
  for (const { path, since, agents } of parts.reports().disconnectedBelow()) {
    const silent = since === undefined ? {} : { silentMs: Math.max(0, wallMs - Date.parse(since)) };
    yield { path, why: 'it is not connected', ...silent, ...(agents === undefined ? {} : { destinations: agents }) };
  }
}
