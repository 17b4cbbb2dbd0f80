/** The audits of the requests that are not finished. */
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { RequestAudit, type RequestAuditPorts } from './request-audit.ts';

export class RequestAudits {
  readonly #ports: RequestAuditPorts | undefined;
  readonly #audits = new WeakMap<Http2ServerResponse, RequestAudit>();

  /** Undefined: the node has no audit log. */
  constructor(ports: RequestAuditPorts | undefined) {
    this.#ports = ports;
  }

  /** Follows the request. A request is followed only once, although an upgrade may become a normal request. */
  of(request: Http2ServerRequest, response: Http2ServerResponse): RequestAudit | undefined {
    if (!this.#ports) return undefined;
    const known = this.#audits.get(response);
    if (known) return known;
    const followed = new RequestAudit(this.#ports, request, response);
    this.#audits.set(response, followed);
    return followed;
  }

  known(response: Http2ServerResponse): RequestAudit | undefined {
    return this.#audits.get(response);
  }
}
