/** The certificate of a node with a parent: the node joins with a token, waits for the parent, and renews the certificate while its process runs. */
import { readBytes } from '../../runtime/config-file.ts';
import type { LinkOptions } from '../dialer/link-options.ts';
import type { JoinRequest } from '../join-messages.ts';
import type { ParentAddress } from '../network.ts';
import type { NodeCredentials } from '../node-credentials.ts';
import { TreeTrust } from '../tree-trust.ts';
import { type JoinLine, joinParent, renewAtParent } from './join-client.ts';
import { JoinedIdentity } from './joined-identity.ts';
import { type JoiningPorts, joinedIdentity } from './joining.ts';
import { type CertificateRenewalPorts, Renewal } from './renewal.ts';

export interface ParentLines extends Pick<JoinLine, 'linkCaPem' | 'environment' | 'clock'> {
  readonly parent: ParentAddress & { readonly replicas?: readonly string[] | undefined };
  readonly link: LinkOptions;
}

const aliveEveryMs = 60_000;

/** One line to each replica of the parent, in the order in which the node tries them. */
export function parentLines({ parent, ...line }: ParentLines): readonly JoinLine[] {
  const { address, path, replicas = [] } = parent;
  return [address, ...replicas].map((one) => ({ ...line, parent: { address: one, path } }));
}

/** Resolves when the node has joined. Throws the errors with which the parent refuses. */
export async function joinedByToken(
  tokenFile: string,
  lines: readonly JoinLine[],
  ports: Omit<JoiningPorts, 'token' | 'parents'>,
): Promise<JoinedIdentity> {
  const joining = {
    ...ports,
    token: () => ({ text: readBytes(tokenFile).toString('utf8'), where: tokenFile }),
    parents: lines.map((line) => (pin: string, asked: JoinRequest) => joinParent(line, pin, asked)),
  };
  // The timers of the clock do not keep the process alive, and before the node has joined, nothing else does.
  const waiting = setInterval(() => {}, aliveEveryMs);
  const identity = await joinedIdentity(joining).finally(() => clearInterval(waiting));
  return new JoinedIdentity(joining, identity);
}

export interface RenewalStart extends Omit<CertificateRenewalPorts, 'renewals' | 'trust'> {
  /** The data directory of the node. */
  readonly data: string;
}

/** The authorities that the node trusts, and a renewal that has started. */
export function startedRenewal(
  lines: readonly JoinLine[],
  { data, ...ports }: RenewalStart,
): { readonly trust: TreeTrust; readonly renewal: Renewal } {
  const trust = new TreeTrust({ given: ports.renewable.credentials(), data, log: ports.log });
  const renewals = lines.map(
    (line) => (credentials: NodeCredentials, request: string) => renewAtParent(line, credentials, request),
  );
  const renewal = new Renewal({ ...ports, trust, renewals });
  renewal.start();
  return { trust, renewal };
}
