/** Follows one request for the audit log: who asks, what the node decides, how the request ends. */
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { type AccessAttributes, isForResource, type Requester } from '../../access/attributes.ts';
import type { AccessDecision } from '../../access/refusal.ts';
import { auditIdHeader, auditIdOf } from '../../audit/audit-id.ts';
import type { AuditPort } from '../../audit/audit-port.ts';
import { confidentialText, isConfidential } from '../../audit/confidential.ts';
import {
  type AuditEvent,
  type AuditStatus,
  type AuditUser,
  auditPlace,
  auditTime,
  auditUser,
  decisionAnnotation,
  lasts,
  objectRefOf,
  onlyReads,
  placeAnnotation,
  reasonAnnotation,
} from '../../audit/event.ts';
import { type AuditDecision, type AuditStage, auditDecision, hasBodyOf } from '../../audit/policy.ts';
import { type RecordedBody, recordedBody, recordedJson } from '../../audit/recorded-body.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { PassedBytes } from '../../stream/pass-on.ts';
import { isRevocation } from '../kinds/revocation-kind.ts';
import type { AskedAccess } from './asked-access.ts';
import type { ApiResponse } from './requests.ts';
import { routeOf } from './route.ts';

/** Whoever can fill the disk of the log must not be able to keep a revoked certificate by it. The event waits in memory until the disk has room (audit-log.ts). */
function revokes(attributes: AccessAttributes): boolean {
  if (!isForResource(attributes)) return false;
  const { apiGroup, resource, verb } = attributes;
  return isRevocation({ group: apiGroup, resource }) && !verb.startsWith('delete');
}

export interface RequestAuditPorts {
  readonly port: AuditPort;
  readonly clock: Clock;
  newId(): string;
}

export class RequestAudit {
  readonly #ports: RequestAuditPorts;
  readonly #request: Http2ServerRequest;
  readonly #id: string;
  readonly #receivedAtMs: number;
  readonly #annotations: Record<string, string> = {};
  #asked: { readonly access: AskedAccess; readonly decision: AuditDecision } | undefined;
  #user: AuditUser | undefined;
  #impersonated: AuditUser | undefined;
  #requestBytes = 0;
  #requestObject: RecordedBody = {};
  #responseObject: RecordedBody = {};
  #status: AuditStatus | undefined;
  readonly #sourceIp: string | undefined;
  /** The status that another node or a cluster has answered, with the counters of a connection that has changed its protocol. */
  #passed: { readonly code: number; readonly bytes: PassedBytes } | undefined;
  #hasStarted = false;
  #isConfidential = false;

  /** Gives the request its id: in the answer, and in the request, which may be passed on to another node. */
  constructor(ports: RequestAuditPorts, request: Http2ServerRequest, response: Http2ServerResponse) {
    this.#ports = ports;
    this.#request = request;
    this.#receivedAtMs = ports.clock.wallMs();
    this.#id = auditIdOf(request.headers[auditIdHeader], () => ports.newId());
    request.headers[auditIdHeader] = this.#id;
    response.setHeader('Audit-ID', this.#id);
    // A closed connection has no address any more.
    this.#sourceIp = request.socket?.remoteAddress?.replace(/^::ffff:/, '');
    response.once('close', () =>
      this.#end(this.#passed?.code ?? (response.headersSent ? response.statusCode : undefined)),
    );
  }

  /** `access`: what the user asks for, in their own name. Throws Unavailable if the log must have the request and can't be written. */
  authenticated(user: Requester, access: AskedAccess): void {
    if (this.#asked) return;
    const { port } = this.#ports;
    const decision = auditDecision(port.policy, access.attributes);
    this.#user = auditUser(user);
    this.#asked = { access, decision };
    this.#annotations[placeAnnotation] = auditPlace(access.place);
    const { attributes } = access;
    if (isConfidential(attributes)) {
      this.#isConfidential = true;
      if (hasBodyOf('request', decision.level)) this.#requestObject = { cut: confidentialText };
      if (hasBodyOf('response', decision.level)) this.#responseObject = { cut: confidentialText };
    }
    const isRead = onlyReads(attributes.verb, isForResource(attributes) ? attributes.subresource : '');
    const isServed = decision.level === 'None' || isRead || revokes(attributes);
    const why = isServed ? undefined : port.refusal();
    this.#write('RequestReceived');
    if (why !== undefined)
      throw new BanyanError('Unavailable', `${why}; the node takes no changes until then (audit.whenFull: refuse)`, {
        retryAfterSeconds: 1,
      });
  }

  /** The user of the request, after impersonation. */
  actsAs(user: Requester): void {
    if (user !== this.#asked?.access.attributes.user) this.#impersonated = auditUser(user);
  }

  decided({ allowed, reason }: AccessDecision): void {
    this.#annotations[decisionAnnotation] = allowed ? 'allow' : 'forbid';
    this.#annotations[reasonAnnotation] = reason;
  }

  /** The length of the body, before the body is parsed. */
  bodyCame(bytes: number): void {
    this.#requestBytes = bytes;
  }

  /** True if the event of the request gets the parsed body. Call it when the body has come. */
  keepsBody(): boolean {
    return this.#has('request') && this.#requestBytes <= this.#ports.port.bodyBytesMax;
  }

  /** The body as the server understood the body. Undefined is enough unless `keepsBody`. */
  bodyParsed(value: unknown): void {
    if (!this.#has('request')) return;
    const { bodyBytesMax } = this.#ports.port;
    this.#requestObject = recordedBody(value, this.#requestBytes, bodyBytesMax, this.#omitsManagedFields);
  }

  answered({ status, body }: ApiResponse): void {
    const shown = body.subarray(0, statusStart.length).equals(statusStart) ? statusOf(body, status) : undefined;
    // What is wrong with a Secret may be said with its values.
    this.#status = this.#isConfidential && saysValues.has(status) ? { metadata: {}, code: status } : shown;
    if (this.#has('response') && !shown)
      this.#responseObject = recordedJson(body, this.#ports.port.bodyBytesMax, this.#omitsManagedFields);
  }

  /** The pieces of a list. Keeps no more of them than an event may have. */
  *pieces(pieces: Generator<Buffer, void>): Generator<Buffer, void> {
    if (!this.#has('response')) return yield* pieces;
    const { bodyBytesMax } = this.#ports.port;
    const kept: Buffer[] = [];
    let bytes = 0;
    for (const piece of pieces) {
      bytes += piece.length;
      if (bytes <= bodyBytesMax) kept.push(piece);
      else kept.length = 0;
      yield piece;
    }
    this.#responseObject =
      bytes > bodyBytesMax
        ? recordedBody(undefined, bytes, bodyBytesMax, false)
        : recordedJson(Buffer.concat(kept), bodyBytesMax, this.#omitsManagedFields);
  }

  /** The head of an answer that lasts was sent. */
  started(code: number): void {
    if (this.#hasStarted || !this.#asked || !lasts(this.#asked.access.attributes)) return;
    this.#hasStarted = true;
    this.#write('ResponseStarted', code);
  }

  /** Another node or a cluster answers. Bodies are in the log of this other node. */
  readonly passedOn = (code: number, bytes: PassedBytes): void => {
    this.#passed = { code, bytes };
    this.started(code);
  };

  /** Without a code, the client closed the connection before the answer began. */
  #end(code: number | undefined): void {
    if (this.#passed?.code === switchedProtocols) {
      this.#annotations['banyan.io/received-bytes'] = String(this.#passed.bytes.received);
      this.#annotations['banyan.io/sent-bytes'] = String(this.#passed.bytes.sent);
    }
    if (code === undefined) this.#annotations['banyan.io/client-closed'] = 'true';
    this.#write('ResponseComplete', code);
  }

  #has(part: 'request' | 'response'): boolean {
    return this.#asked !== undefined && !this.#isConfidential && hasBodyOf(part, this.#asked.decision.level);
  }

  get #omitsManagedFields(): boolean {
    return this.#asked?.decision.omitManagedFields === true;
  }

  #write(stage: AuditStage, code?: number): void {
    const { level, omitStages } = this.#asked?.decision ?? withoutUser;
    // Nobody was authenticated. Such a request is in the log only once, with its refusal.
    if (!this.#asked && code !== 401) return;
    if (level === 'None' || omitStages.includes(stage)) return;
    this.#ports.port.write(this.#event(stage, level, code));
  }

  #event(stage: AuditStage, level: AuditEvent['level'], code: number | undefined): AuditEvent {
    const { access } = this.#asked ?? {};
    const { url, method, headers } = this.#request;
    const userAgent = headers['user-agent'];
    const ref = access && objectRefOf(access.attributes, versionOf(access.path));
    const bodies = stage === 'ResponseComplete' ? this.#bodies() : {};
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level,
      auditID: this.#id,
      stage,
      requestURI: url,
      verb: access?.attributes.verb ?? method.toLowerCase(),
      user: this.#user ?? {},
      ...(this.#impersonated ? { impersonatedUser: this.#impersonated } : {}),
      ...(this.#sourceIp === undefined ? {} : { sourceIPs: [this.#sourceIp] }),
      ...(userAgent === undefined ? {} : { userAgent }),
      ...(ref ? { objectRef: ref } : {}),
      ...(code === undefined ? {} : { responseStatus: this.#status ?? { metadata: {}, code } }),
      ...bodies,
      requestReceivedTimestamp: auditTime(this.#receivedAtMs),
      stageTimestamp: auditTime(this.#ports.clock.wallMs()),
      annotations: { ...this.#annotations },
    };
  }

  #bodies(): Pick<AuditEvent, 'requestObject' | 'responseObject'> {
    const { cut: requestCut, object: requestObject } = this.#requestObject;
    const { cut: responseCut, object: responseObject } = this.#responseObject;
    if (requestCut !== undefined) this.#annotations['banyan.io/request-body-cut'] = requestCut;
    if (responseCut !== undefined) this.#annotations['banyan.io/response-body-cut'] = responseCut;
    return {
      ...(requestObject === undefined ? {} : { requestObject }),
      ...(responseObject === undefined ? {} : { responseObject }),
    };
  }
}

/** Kubernetes logs a request without a valid user at the level Metadata, whatever the policy says about users. */
const withoutUser: Pick<AuditDecision, 'level' | 'omitStages'> = { level: 'Metadata', omitStages: [] };

const switchedProtocols = 101;
/** BadRequest and Invalid. */
const saysValues: ReadonlySet<number> = new Set([400, 422]);
const statusStart = Buffer.from('{"kind":"Status"');

function statusOf(body: Buffer, code: number): AuditStatus {
  const { status, message, reason, details } = JSON.parse(body.toString()) as Omit<AuditStatus, 'code' | 'metadata'>;
  const fields = Object.entries({ status, message, reason, details }).filter(([, value]) => value !== undefined);
  return { metadata: {}, ...Object.fromEntries(fields), code };
}

function versionOf(path: string): string | undefined {
  const route = routeOf(path);
  return route.type === 'resource' ? route.version : undefined;
}
