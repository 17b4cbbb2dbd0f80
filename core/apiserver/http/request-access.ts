/** Finds out who sends a request, and refuses the request unless this user may send it. */
import type { Http2ServerRequest } from 'node:http2';
import type { AccessAttributes } from '../../access/attributes.ts';
import type { Authorizer } from '../../access/authorizer.ts';
import { describePart } from '../../access/grant-scope.ts';
import { accessRefused } from '../../access/refusal.ts';
import { shownPath } from '../../identity/node-path.ts';
import type { ObjectKey } from '../../object/key.ts';
import type { UserInfo } from '../space.ts';
import { type AskedAccess, askedAccess } from './asked-access.ts';
import type { RequestAudit } from './request-audit.ts';
import type { RequestUsers } from './request-users.ts';

interface AccessPorts {
  readonly users: RequestUsers;
  readonly authorizer: Authorizer;
  /** The path of the node. Empty: the center. */
  readonly path: string;
}

export class RequestAccess {
  readonly #ports: AccessPorts;

  constructor(ports: AccessPorts) {
    this.#ports = ports;
  }

  /** Throws Unauthorized and Forbidden. */
  async of(request: Http2ServerRequest, url: URL, audit: RequestAudit | undefined): Promise<AskedAccess> {
    const { path, authorizer, users } = this.#ports;
    const decide = (attributes: AccessAttributes) => authorizer.decide(attributes, { node: path });
    const accessOf = (user: UserInfo) =>
      askedAccess({ user, method: request.method, path: url.pathname, query: url.searchParams }, path);
    const user = await users.of(request, decide, (own) => audit?.authenticated(own, accessOf(own)));
    audit?.actsAs(user);
    const access = accessOf(user);
    this.#authorize(access, audit);
    return access;
  }

  /** Throws Forbidden if the user may not use the verb on what the request asks for. */
  alsoMay(access: AskedAccess, verb: string): void {
    this.#authorize({ ...access, attributes: { ...access.attributes, verb } });
  }

  /** Throws Forbidden if the user may not read the object at the place of the request. */
  mustRead(access: AskedAccess, { group: apiGroup, resource, namespace, name }: ObjectKey): void {
    const { user } = access.attributes;
    const attributes = { user, verb: 'get', apiGroup, resource, subresource: '', namespace, name };
    this.#authorize({ ...access, attributes });
  }

  /** Whether the request is for the node itself, and not for one of its spaces or for another node. */
  isHere({ place }: AskedAccess): boolean {
    return 'node' in place && place.node === this.#ports.path;
  }

  #authorize(access: AskedAccess, audit?: RequestAudit): void {
    const { attributes, place } = access;
    const { authorizer, path } = this.#ports;
    const decision = authorizer.decide(attributes, place);
    const { allowed, reason } = decision;
    audit?.decided(decision);
    if (allowed) return;
    const missing = this.isHere(access)
      ? ''
      : `no AccessGrant of ${shownPath(path)} allows this ${describePart({ place })}`;
    throw accessRefused(attributes, reason || missing);
  }
}
