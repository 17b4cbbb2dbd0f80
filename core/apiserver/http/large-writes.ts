/**
 * Writes with long bodies. The separate thread (body-thread.ts) does the long part: it parses, checks, merges, and makes the bytes to store. The rest
 * happens in the thread of the space, because the rest needs the space: admission, quota, the transaction. If the object changes meanwhile, the thread makes
 * the bytes again, from the new state.
 */
import { parseBody } from '../../object/canonical.ts';
import { isTerminating } from '../../object/terminating.ts';
import { crdResource } from '../crd/definition.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import { storedKey } from '../space.ts';
import { alreadyExists } from '../status-errors.ts';
import type { StoredObject } from '../storage.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import { isPlainKind } from './plain-kinds.ts';
import { publicBytes } from './public-form.ts';
import { type ApiRequest, type ApiResponse, header, type WriteThread } from './requests.ts';
import type { ThreadWrite, ThreadWritten } from './thread-write.ts';
import { warned } from './warnings.ts';
import { writeOptionsOf } from './write-options.ts';
import { verbs, type WriteTarget } from './writes.ts';

/** The write of a body of this length takes some 10 ms. The way to the other thread and back takes 1 ms. */
const shortBodyMax = 64 * 1024;
/** After so many changes by others, the write happens in the thread of the space. kube-apiserver tries a patch five times. */
const triesMax = 5;

/** Does a write, in the separate thread if its body is long. */
export async function write(
  method: ThreadWrite['method'],
  request: ApiRequest,
  target: WriteTarget,
): Promise<ApiResponse> {
  const { thread } = request;
  if (!thread || !isForThread(target)) return verbs[method](request, target);
  const body = await request.body();
  const here = { ...request, body: () => Promise.resolve(body) };
  if (!isLong(body, request)) return verbs[method](here, target);
  await recordBody(here, thread, body);
  for (let tries = 0; tries < triesMax; tries++) {
    const state: State = {};
    const written = await thread.write(() => {
      Object.assign(state, stateOf(method, target));
      if (isApply(request) && !state.live) request.alsoMay('create');
      return questionOf(method, request, { body, target, state });
    }, body.length);
    if (written === 'elsewhere') break;
    const answer = await answerOf(method, request, { target, written, state });
    if (answer) return answer;
  }
  return verbs[method](here, target);
}

/** Gives the audit log the parsed body, if the log records the body. Parsing takes a tenth of the time of the write. */
async function recordBody(request: ApiRequest, thread: WriteThread, body: Buffer): Promise<void> {
  const media = mediaTypeOf(header(request, 'content-type'));
  const isKept = thread.keepsBody();
  request.parsed?.(isKept ? await parseRequestBody(body, media, decodeProtobuf, request.readLongYaml) : undefined);
}

function isForThread({ space, kind, subresource }: WriteTarget): boolean {
  return isPlainKind(kind, space.fills) && (subresource === '' || subresource === 'status');
}

/** A JSON patch that copies is long too, because each copy may double the object. */
function isLong(body: Buffer, request: ApiRequest): boolean {
  if (body.length > shortBodyMax) return true;
  const isJsonPatch = header(request, 'content-type')?.startsWith('application/json-patch+json') ?? false;
  return isJsonPatch && (body.includes('copy') || body.includes('\\u'));
}

function isApply(request: ApiRequest): boolean {
  return header(request, 'content-type')?.startsWith('application/apply-patch') ?? false;
}

/** The objects of the space on which the result of the thread depends. */
interface State {
  live?: StoredObject | undefined;
  definition?: StoredObject | undefined;
}

function stateOf(method: ThreadWrite['method'], { space, kind, key }: WriteTarget): State {
  const name = `${kind.resource}.${kind.group}`;
  return {
    live: method === 'POST' ? undefined : space.storage.get(storedKey(kind, key)),
    definition: kind.custom ? space.storage.get({ ...crdResource, namespace: '', name }) : undefined,
  };
}

function questionOf(
  method: ThreadWrite['method'],
  request: ApiRequest,
  { body, target, state }: { body: Buffer; target: WriteTarget; state: State },
): ThreadWrite {
  const { key, version, subresource } = target;
  const query = new URLSearchParams(request.query);
  query.delete('dryRun');
  const sent = ['content-type', 'user-agent'].map((name) => [name, header(request, name)] as const);
  const headers = Object.fromEntries(sent.filter((one): one is [string, string] => one[1] !== undefined));
  const { fills } = target.space;
  return { method, query: String(query), headers, body, key, version, subresource, fills, ...state };
}

/** Stores the result of the thread. Undefined: the objects on which the result depends have changed. */
async function answerOf(
  method: ThreadWrite['method'],
  request: ApiRequest,
  { target, written, state }: { target: WriteTarget; written: Exclude<ThreadWritten, 'elsewhere'>; state: State },
): Promise<ApiResponse | undefined> {
  const { space } = target;
  const { status, headers, stored } = written;
  if (!stored) return { status, headers, body: Buffer.from(written.body) };
  const { key, bytes } = stored;
  if (stateOf(method, target).definition?.revision !== state.definition?.revision) return undefined;
  const existing = space.storage.get(key);
  if (method === 'POST' && existing) throw alreadyExists(key, isTerminating(parseBody(existing.body)));
  if (existing?.revision !== state.live?.revision) return undefined;
  const warnings: string[] = [];
  const put = space.putMade(key, bytes, writeOptionsOf(request, target, warnings));
  await space.storage.flushed();
  const warning = [headers.warning ?? [], warned(warnings).warning ?? []].flat();
  return {
    status,
    headers: { ...headers, ...(warning.length > 0 ? { warning } : {}) },
    body: publicBytes(target.kind, put),
  };
}
