/** How many nodes at and below a node still depend on each authority of nodes, for the node's parent and for its Node object. Pure. */
import type { X509Certificate } from 'node:crypto';
import {
  type Dependents,
  dependentsShownMax,
  type NodeAttributes,
  otherAuthority,
} from '../../core/entries/up-attributes.ts';
import { authorityId } from '../../core/identity/peer-identity.ts';
import { authoritiesMax, bundlePem } from '../../core/identity/trusted-authorities.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { ReportedTrust } from '../../core/wire/tree-trust.ts';

export interface Reporting {
  readonly path: string;
  readonly report: Pick<NodeAttributes, 'authority' | 'dependents'> | undefined;
}

/**
 * `nodes`: this node and its children. A relay has counted the nodes below it. `trusted`: the ids of the authorities that this node trusts; all others count as one,
 * so that no child can make the result long. A child that has never reported depends on nothing.
 */
export function dependentsOf(nodes: Iterable<Reporting>, trusted: readonly string[]): Dependents {
  const found = new Map<string, { nodes: number; sample: string[] }>();
  const add = (authority: string, count: number, sample: readonly string[]) => {
    const id = trusted.includes(authority) ? authority : otherAuthority;
    const before = found.get(id);
    const shown = [...(before?.sample ?? []), ...sample].slice(0, dependentsShownMax);
    found.set(id, { nodes: (before?.nodes ?? 0) + count, sample: shown });
  };
  for (const { path, report } of nodes) {
    if (!report) continue;
    const { authority = otherAuthority, dependents } = report;
    if (!dependents) add(authority, 1, [path]);
    else for (const [id, { nodes: count, sample }] of Object.entries(dependents)) add(id, count, sample);
  }
  return Object.fromEntries(found);
}

/** The authorities that a node trusts and uses. */
export interface OwnTrust {
  readonly own: ReportedTrust;
  readonly authorities: readonly X509Certificate[];
  /** The ids of the authorities to which the node's certificate and its issuers lead. */
  readonly inUse: readonly (string | undefined)[];
}

export interface ShownAuthority {
  readonly id: string;
  readonly subject?: string;
  readonly notAfter?: string;
  /** PEM. */
  readonly certificate?: string;
  /** Whether the certificate of the node itself, or one of its issuers, leads to the authority. */
  readonly inUse?: boolean;
  /** The number of nodes, at and below the node, that depend on the authority, and some of their paths. */
  readonly nodes: number;
  readonly sample?: readonly string[];
}

/** The authorities as the Node object shows them. */
export function shownAuthorities({ authorities, inUse }: OwnTrust, dependents: Dependents): ShownAuthority[] {
  const of = (id: string) => {
    const { nodes = 0, sample = [] } = dependents[id] ?? {};
    return { nodes, ...(sample.length > 0 ? { sample } : {}) };
  };
  const trusted = authorities.slice(0, authoritiesMax).map((authority) => {
    const id = authorityId(authority);
    const { subject, validTo } = authority;
    const certificate = bundlePem([authority]);
    const notAfter = timestamp(Date.parse(validTo));
    return { id, subject: subject.replaceAll('\n', ', '), notAfter, certificate, inUse: inUse.includes(id), ...of(id) };
  });
  return dependents[otherAuthority] ? [...trusted, { id: otherAuthority, ...of(otherAuthority) }] : trusted;
}
