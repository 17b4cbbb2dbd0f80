/**
 * Gives certificates to the agents and relays directly below this node: the first one for a join token, each later one for the present certificate. The use of a token is
 * on the disk before the node gets its certificate.
 */

import type { Revocations } from '../../core/access/revocations.ts';
import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { type NoteAct, refusalByError } from '../../core/audit/node-acts.ts';
import { backdateMsMax } from '../../core/identity/certificate-validity.ts';
import { nameOf, objectName, parentOf } from '../../core/identity/node-path.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';
import { admitJoined, replacesKey, replacesOther } from '../../core/session/admitted-keys.ts';
import type { Store } from '../../core/store/store.ts';
import type { JoinAnswer, JoinRequest } from '../../core/wire/join-messages.ts';
import type { Joins } from '../../core/wire/joins.ts';
import { syncTargetResource } from '../children/inventory.ts';
import type { NodeConfig } from '../config/config.ts';
import {
  checkOwner,
  checkSecret,
  checkUse,
  firstTokenCommand,
  isPossible,
  type JoinTokenStatus,
  joinTokenCommand,
  joinTokenResource,
  type StoredToken,
} from './judge.ts';
import type { CertificateSigner, JoiningNode, Signed } from './signer.ts';
import { TokenExpiry } from './token-expiry.ts';

export interface AdmissionsPorts {
  readonly path: string;
  /** The system space: JoinTokens, SyncTargets and Nodes. */
  readonly space: Space;
  readonly signer: CertificateSigner;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<Store, 'read' | 'write' | 'flushed'>;
  /** Writes joins and renewals, and their refusals, into the audit log. */
  readonly noteAct?: NoteAct | undefined;
  readonly revocations: Pick<Revocations, 'nodeRevokedAtMs' | 'whyRevoked'>;
  /** Revokes all certificates of the node at the path, and those that the node has signed. */
  revoke(path: string): void;
  /** Ends the session of the child. Does nothing if there is none. */
  endSession(child: string, reason: string): void;
}

/**
 * The limit for all join requests together, because anybody may send one. A wrong secret costs a hash. A right secret costs 5 ms of a core and a flush. A
 * region of a thousand sites that are installed at the same time has joined in 100 s.
 */
const joinBurst = 20;
const joinEveryMs = 100;
/**
 * The limit for renewals. Each renewal request has a certificate and costs 5 ms of a core. If ten thousand agents all renew within one hour, these are three
 * requests a second.
 */
const renewBurst = 100;
const renewEveryMs = 50;

/** Undefined: the node has no issuer with which it could sign. */
export function admissionsOf(
  { path }: Pick<NodeConfig, 'path'>,
  {
    signer,
    store,
    clock,
    log,
    noteAct,
  }: Pick<AdmissionsPorts, 'store' | 'clock' | 'log' | 'noteAct'> & { readonly signer?: CertificateSigner | undefined },
  late: Pick<AdmissionsPorts, 'space' | 'endSession' | 'revocations' | 'revoke'>,
): Admissions | undefined {
  if (!signer) return undefined;
  return new Admissions({ path, ...late, signer, store, clock, log, noteAct });
}

export class Admissions implements Joins {
  readonly #ports: AdmissionsPorts;
  readonly #joins: TokenBucket;
  readonly #renewals: TokenBucket;
  readonly #expiry: TokenExpiry;

  constructor(ports: AdmissionsPorts) {
    this.#ports = ports;
    const nowMs = ports.clock.monotonicMs();
    this.#joins = new TokenBucket(joinBurst, joinEveryMs, nowMs);
    this.#renewals = new TokenBucket(renewBurst, renewEveryMs, nowMs);
    this.#expiry = new TokenExpiry(ports);
  }

  start(): void {
    this.#expiry.start();
  }

  stop(): void {
    this.#expiry.stop();
  }

  admit(): void {
    this.#take(this.#joins, 'nodes come with join tokens faster than this node admits them');
  }

  authority(): string {
    return this.#ports.signer.authority();
  }

  join(asked: JoinRequest, from: string): Promise<JoinAnswer> {
    return this.#noted({ verb: 'join', about: asked.path, from }, () => this.#join(asked, from));
  }

  async #join(asked: JoinRequest, from: string): Promise<JoinAnswer> {
    const { signer, store, clock, log } = this.#ports;
    const { path, request, secret, role = 'agent' } = asked;
    const token = () => (isPossible(asked) ? this.#token(asked.name) : undefined);
    checkSecret(token(), secret);
    const judged = await signer.judge(this.#joining(path, role), request);
    // Read the token again: another request may have used it during the wait. From here to the write there is no wait, so no other request can use it in
    // between.
    const tokenNow = token();
    checkSecret(tokenNow, secret);
    checkUse(tokenNow!, { path, role, key: judged.key, nowMs: clock.wallMs() });
    checkOwner(tokenNow!, this.#checkInventory(path, role));
    if (tokenNow!.status?.key === undefined) this.#use(tokenNow!, from, judged.key);
    this.#admitKey(path, role, judged.key);
    const signed = await judged.sign(this.#ports.revocations.nodeRevokedAtMs(path));
    await store.flushed();
    log.info({ child: path, role, token: asked.name, from }, 'a node has joined by a token');
    return this.#answer(signed);
  }

  async renew(peer: PeerIdentity, request: string): Promise<JoinAnswer> {
    // Requests beyond the limit are not noted: they would fill the audit log.
    this.#take(this.#renewals, 'nodes renew their certificates faster than this node signs them');
    return this.#noted({ verb: 'renew', about: peer.path }, () => this.#renew(peer, request));
  }

  async #renew(peer: PeerIdentity, request: string): Promise<JoinAnswer> {
    const { signer, store, log, revocations } = this.#ports;
    const { path, role, certificate: shown } = peer;
    if (role === 'center' || peer.replica !== undefined || !this.#isBelow(path)) {
      throw new BanyanError(
        'Forbidden',
        `the ${role} "${path}" is no agent or relay right below "${this.#ports.path}"`,
      );
    }
    this.#checkInventory(path, role);
    const revoked = revocations.whyRevoked(peer);
    if (revoked) throw new BanyanError('Forbidden', `${revoked}: admit it again: ${joinTokenCommand(path, role)}`);
    if (shown) store.read((reader) => replacesKey(reader, path, shown));
    const judged = await signer.judge(this.#joining(path, role), request);
    // Without this check, somebody who can use the node's key only for a moment would get a certificate for another key, and could go on using that one.
    if (judged.key !== shown?.key) {
      throw new BanyanError(
        'Forbidden',
        `a certificate is renewed only for the key of the certificate that the node has shown; for another key: ${joinTokenCommand(path, role)}`,
      );
    }
    const signed = await judged.sign(revocations.nodeRevokedAtMs(path));
    log.info({ child: path, role }, 'the certificate of a node was renewed');
    return this.#answer(signed);
  }

  #answer(signed: Signed): JoinAnswer {
    return { authority: this.#ports.signer.authority(), ...signed };
  }

  /** The hosts are those of the Node object at the time of the request. */
  #joining(path: string, role: JoiningNode['role']): JoiningNode {
    const node = role === 'relay' ? this.#inventoryObject(path, role) : undefined;
    const { hosts = [] } = (node?.spec ?? {}) as { readonly hosts?: readonly string[] };
    return { path, role, hosts };
  }

  /** Does the act, and notes its end. */
  async #noted<T>(act: Parameters<NoteAct>[0], run: () => Promise<T>): Promise<T> {
    const { noteAct } = this.#ports;
    try {
      const result = await run();
      noteAct?.(act);
      return result;
    } catch (error) {
      noteAct?.({ ...act, refused: refusalByError(error) });
      throw error;
    }
  }

  /**
   * A certificate of an earlier key ends here, together with its session: somebody else may have the earlier key. The earlier key of a relay has also signed for
   * the relay's subtree, and the nodes there have to learn that these certificates do not count. The revocation comes first: if it fails, or the node dies after
   * it, the key is not admitted, and the next attempt revokes again.
   */
  #admitKey(path: string, role: JoiningNode['role'], key: string): void {
    const { store, clock, endSession, revoke } = this.#ports;
    const fromMs = clock.wallMs() - backdateMsMax;
    const shown = { key, fromMs };
    if (role === 'relay' && store.read((reader) => replacesOther(reader, path, shown))) revoke(path);
    const isOther = store.write((t) => admitJoined(t, path, shown));
    if (isOther) endSession(nameOf(path), `another key was admitted for this ${role}`);
  }

  #take(bucket: TokenBucket, reason: string): void {
    const waitMs = bucket.take(this.#ports.clock.monotonicMs());
    if (waitMs === 0) return;
    throw new BanyanError('TooManyRequests', `${reason}: try again later`, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }

  #token(name: string): StoredToken | undefined {
    return this.#ports.space.get({ ...joinTokenResource, namespace: '', name }) as StoredToken | undefined;
  }

  /** Returns whether the path is directly below this node. `parentOf` gives the center's own path for the center, so the node itself is excluded. */
  #isBelow(path: string): boolean {
    return parentOf(path) === this.#ports.path && path !== this.#ports.path;
  }

  /**
   * To shut a node out, a person deletes its SyncTarget, or the Node object of a relay. After that, no token and no certificate of the node is accepted.
   */
  #checkInventory(path: string, role: JoiningNode['role']): KubeObject {
    const found = this.#isBelow(path) && this.#inventoryObject(path, role);
    if (found) return found;
    throw new BanyanError(
      'Forbidden',
      `there is no ${kindOf[role]} of "${path}" here, it may have been deleted: admit it anew: ${firstTokenCommand(path, role)}`,
    );
  }

  #inventoryObject(path: string, role: JoiningNode['role']): KubeObject | undefined {
    const { space } = this.#ports;
    if (role === 'agent') return space.get({ ...syncTargetResource, namespace: '', name: nameOf(path) });
    const node = space.get({ ...nodeResource, namespace: '', name: objectName(path) });
    return (node?.spec as { readonly role?: string } | undefined)?.role === 'Relay' ? node : undefined;
  }

  #use(token: StoredToken, usedFrom: string, key: string): void {
    const usedAt = timestamp(this.#ports.clock.wallMs());
    const status: JoinTokenStatus = { state: 'Used', usedAt, usedFrom, key };
    this.#ports.space.update({ ...token, status }, { subresource: 'status' });
  }
}

const kindOf = { agent: 'SyncTarget', relay: 'Node object' } as const;
