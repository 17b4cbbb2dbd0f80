/** Answers of the rules and of a real API server to the same object, in a form that can be compared. */
import { builtinKinds } from '../../../core/apiserver/builtin/builtin-kinds.ts';
import { fillingOf } from '../../../core/apiserver/kinds/fillings.ts';
import { SpaceKinds } from '../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../core/apiserver/managed-fields/field-manager.ts';
import type { Kind, WriteOptions } from '../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../core/apiserver/verbs/embedded-space.ts';
import { type KubeObject, parseApiVersion } from '../../../core/object/meta.ts';
import { VirtualClock } from '../../../core/runtime/clock.ts';
import { BanyanError, type Cause } from '../../../core/runtime/errors.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { untilAnswered } from '../../e2e/local-tree.ts';
import type { ApiCaller, CallerAnswer } from '../api-caller.ts';
import { masked, onlyReal } from './accepted-differences.ts';
import { minimalObjects } from './minimal-objects.ts';
import { validObjects } from './valid-objects.ts';

/** Empty: the object was accepted. Otherwise each cause, or the message of an answer without causes. */
export type ComparedAnswer = readonly string[];

export function kindOf({ apiVersion, kind }: KubeObject): Kind {
  const { group } = parseApiVersion(apiVersion);
  return builtinKinds().find((one) => one.group === group && one.kind === kind)!;
}

const isNamespaced = (apiVersion: string, kind: string) => kindOf({ apiVersion, kind, metadata: {} }).namespaced;

export const baseObjects = validObjects(isNamespaced);
export const smallObjects = minimalObjects(isNamespaced);

/** A space with the built-in kinds and the namespace of the objects. */
export function ownSpace(): EmbeddedSpace {
  const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'test', logger: silentLogger });
  const space = new EmbeddedSpace({
    name: 'test',
    storage,
    kinds: new SpaceKinds(storage, builtinKinds()),
    clock: new VirtualClock(),
    random: new SeededRandom(3),
    fields: fieldManager,
    admissions: [],
    ...fillingOf('Workload'),
  });
  space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } });
  return space;
}

export const checkedWrite: WriteOptions = { dryRun: true, fieldValidation: 'Strict' };

export function ownAnswer(write: () => unknown): ComparedAnswer {
  try {
    write();
    return [];
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return compared(error.message, error.details.causes);
  }
}

/** Undefined: the answer says nothing about the object (accepted-differences.ts). */
export function realAnswer({ status, text }: CallerAnswer): ComparedAnswer | undefined {
  if (status < 300) return [];
  const { message, details } = JSON.parse(text) as { message: string; details?: { causes?: Partial<Cause>[] } };
  const causes = details?.causes?.map(({ field = '', message: of = '', reason = '' }) => ({
    field,
    message: of,
    reason,
  }));
  return status === 403 || status === 409 ? undefined : compared(message, causes).filter((cause) => !onlyReal(cause));
}

function compared(message: string, causes: readonly Cause[] | undefined): ComparedAnswer {
  const texts = causes?.map((cause) => `${cause.field}: ${cause.message}`) ?? [message];
  return [...new Set(texts.map(masked))].sort();
}

export function urlOf(object: KubeObject): string {
  const { namespaced, resource } = kindOf(object);
  const { group } = parseApiVersion(object.apiVersion);
  const root = group === '' ? '/api' : '/apis';
  return `${root}/${object.apiVersion}${namespaced ? '/namespaces/valid' : ''}/${resource}`;
}

/** Creates the namespace of the objects at a real API server, and waits for its account: before, the API server refuses pods. */
export async function createValidNamespace(api: ApiCaller): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } };
  await api.call('POST', '/api/v1/namespaces', { body });
  const account = '/api/v1/namespaces/valid/serviceaccounts/default';
  await untilAnswered('the namespace has its account', async () => (await api.call('GET', account)).status === 200);
}
