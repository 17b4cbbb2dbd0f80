/**
 * Long writes: those with a long body, those of a long object, and those of a kind with many rules. The separate thread (body-thread.ts) does the long part: it parses, checks, merges, and makes
 * the bytes to store. The rest happens in the thread of the space, because the rest needs the space: admission, quota, the transaction. If the object changes
 * meanwhile, the thread makes the bytes again, from the new state.
 */
import { parseBody } from '../../object/canonical.ts';
import { equalJson } from '../../object/json-value.ts';
import { isTerminating } from '../../object/terminating.ts';
import { crdResource } from '../crd/definition.ts';
import { kindNames } from '../kinds/object-checks.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import { type SpaceFacts, storedKey } from '../space.ts';
import { alreadyExists } from '../status-errors.ts';
import type { StoredObject } from '../storage.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import { isPlainKind } from './plain-kinds.ts';
import { publicBytes } from './public-form.ts';
import { type ApiRequest, type ApiResponse, header, type WriteRequest, type WriteThread } from './requests.ts';
import type { ThreadWrite, ThreadWritten } from './thread-write.ts';
import { warned } from './warnings.ts';
import { writeOptionsOf } from './write-options.ts';
import { verbs, type WriteTarget } from './writes.ts';

/** The write of a body or of an object of this length takes some 10 ms. The way to the other thread and back takes 1 ms. */
const shortBytesMax = 64 * 1024;
/** After so many changes by others, the write happens in the thread of the space. kube-apiserver tries a patch five times. */
const triesMax = 5;

export function isLongObject(stored: StoredObject | undefined): boolean {
  return stored !== undefined && stored.body.length > shortBytesMax;
}

/** Does a write, in the separate thread if it is long. */
export async function write(
  method: ThreadWrite['method'],
  request: ApiRequest,
  target: WriteTarget,
): Promise<ApiResponse> {
  const { thread } = request;
  if (!thread) return verbs[method](request, target);
  const body = await request.body();
  const here = { ...request, body: () => Promise.resolve(body) };
  const isLong = isLongBody(body, request) || isLongObject(liveOf(method, target)) || target.kind.hasManyRules;
  const facts = isLong ? factsFor(target) : undefined;
  if (!facts) return verbs[method](here, target);
  await recordBody(here, thread, body);
  return (await writtenBeside(method, here, { target, thread, body })) ?? verbs[method](here, target);
}

/** Undefined: the write has to happen in the thread of the space. */
export async function writtenBeside(
  method: ThreadWrite['method'],
  request: WriteRequest,
  of: { readonly target: WriteTarget; readonly thread: Pick<WriteThread, 'write'>; readonly body: Buffer },
): Promise<ApiResponse | undefined> {
  const { target, thread, body } = of;
  for (let tries = 0; tries < triesMax; tries++) {
    let state: State | undefined;
    const written = await thread.write(() => {
      state = stateOf(method, target);
      if (isApply(request) && !state.live) request.alsoMay('create');
      return questionOf(method, request, { body, target, state });
    }, body.length);
    if (written === 'elsewhere') return undefined;
    const answer = await answerOf(method, request, { target, written, state: state! });
    if (answer) return answer;
  }
  return undefined;
}

/** Gives the audit log the parsed body, if the log records the body. Parsing takes a tenth of the time of the write. */
async function recordBody(request: ApiRequest, thread: WriteThread, body: Buffer): Promise<void> {
  const media = mediaTypeOf(header(request, 'content-type'));
  const isKept = thread.keepsBody();
  request.parsed?.(isKept ? await parseRequestBody(body, media, decodeProtobuf, request.readLongYaml) : undefined);
}

/** Undefined: the other thread can't make the bytes of this kind. */
function factsFor({ space, kind }: WriteTarget): SpaceFacts | undefined {
  const facts = space.facts(kind);
  return facts && isPlainKind(kind, facts.type) ? facts : undefined;
}

/** A JSON patch that copies is long too, because each copy may double the object. */
function isLongBody(body: Buffer, request: ApiRequest): boolean {
  if (body.length > shortBytesMax) return true;
  const isJsonPatch = header(request, 'content-type')?.startsWith('application/json-patch+json') ?? false;
  return isJsonPatch && (body.includes('copy') || body.includes('\\u'));
}

function isApply(request: WriteRequest): boolean {
  return header(request, 'content-type')?.startsWith('application/apply-patch') ?? false;
}

/** What the result of the thread depends on. */
interface State {
  readonly live: StoredObject | undefined;
  readonly definition: StoredObject | undefined;
  readonly facts: SpaceFacts;
}

function stateOf(method: ThreadWrite['method'], target: WriteTarget): State {
  const { space, kind } = target;
  const name = `${kind.resource}.${kind.group}`;
  return {
    live: liveOf(method, target),
    definition:
      kind.definitionUid === undefined ? undefined : space.storage.get({ ...crdResource, namespace: '', name }),
    facts: factsFor(target)!,
  };
}

/** A POST has the name of its object in the body. */
function liveOf(method: ThreadWrite['method'], { space, kind, key }: WriteTarget): StoredObject | undefined {
  return method === 'POST' ? undefined : space.storage.get(storedKey(kind, key));
}

function questionOf(
  method: ThreadWrite['method'],
  request: WriteRequest,
  { body, target, state }: { body: Buffer; target: WriteTarget; state: State },
): ThreadWrite {
  const { key, version, subresource, space } = target;
  const query = new URLSearchParams(request.query);
  query.delete('dryRun');
  const sent = ['content-type', 'user-agent'].map((name) => [name, header(request, name)] as const);
  const headers = Object.fromEntries(sent.filter((one): one is [string, string] => one[1] !== undefined));
  const customKinds = space.kinds.all().filter(({ definitionUid }) => definitionUid !== undefined);
  const { user } = request;
  return {
    ...{ method, query: String(query), headers, body, user, key, version, subresource },
    customKinds: customKinds.map(kindNames),
    ...state,
  };
}

/** Stores the result of the thread. Undefined: what the result depends on has changed. */
async function answerOf(
  method: ThreadWrite['method'],
  request: WriteRequest,
  { target, written, state }: { target: WriteTarget; written: Exclude<ThreadWritten, 'elsewhere'>; state: State },
): Promise<ApiResponse | undefined> {
  const { space } = target;
  const { status, headers, stored } = written;
  if (!stored) return { status, headers, body: Buffer.from(written.body) };
  const { key, bytes, shown } = stored;
  const { definition, facts } = stateOf(method, target);
  if (definition?.revision !== state.definition?.revision || !equalJson(facts, state.facts)) return undefined;
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
    body: publicBytes(target.kind, shown ? { body: shown, revision: put.revision } : put),
  };
}
