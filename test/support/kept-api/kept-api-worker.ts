/** The thread that keeps the connections open. There is one connection for each requested context of each kubeconfig, until the process ends. */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { runAsWorker } from 'synckit';
import { NodeApiClient } from '../../../center/cli/api-client.ts';
import { collectionPath, type FoundResource, findResource, objectPath } from '../../../center/cli/resources.ts';
import type { Question } from './question.ts';

interface Kept {
  readonly client: NodeApiClient;
  /** When the kubeconfig was written: a tree that starts again may write another file under the same name. */
  readonly writtenMs: number;
  /** Keyed by context, then by the text that named the resource. */
  readonly served: Map<string, FoundResource>;
}

const kept = new Map<string, Kept>();

/**
 * Longest wait for an answer. Discovery needs about twenty requests, and a stopped server may delay each by 5 s. After this time, the test asks again
 * instead.
 */
const answerMsMax = 20_000;

runAsWorker((kubeconfig: string, context: string | undefined, question: Question) =>
  Promise.race([answer(kubeconfig, context, question), delay(answerMsMax, undefined, { ref: false })]),
);

async function answer(
  kubeconfig: string,
  context: string | undefined,
  question: Question,
): Promise<object | undefined> {
  try {
    const { client, served } = clientOf(kubeconfig);
    const at = context ?? client.currentContext();
    const key = `${at} ${question.resource}`;
    const resource = served.get(key) ?? (await findResource(client, at, question.resource));
    served.set(key, resource);
    const found = await client.get(at, pathOf(resource, question));
    // A definition may have been deleted, and created again in another version or scope.
    if (!found) served.delete(key);
    return found && withKinds(found as ListOrObject);
  } catch {
    // While a server does not answer or refuses, the test continues to wait, as with a kubectl that fails.
    return undefined;
  }
}

function clientOf(kubeconfig: string): Kept {
  const writtenMs = statSync(kubeconfig).mtimeMs;
  const known = kept.get(kubeconfig);
  if (known?.writtenMs === writtenMs) return known;
  known?.client.close();
  const made = { client: new NodeApiClient(kubeconfig), writtenMs, served: new Map() };
  kept.set(kubeconfig, made);
  return made;
}

function pathOf(resource: FoundResource, question: Question): string {
  const { name, namespace, allNamespaces, labelSelector, fieldSelector } = question;
  if (name !== undefined) return objectPath(resource, namespace, name);
  const query = new URLSearchParams({
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  });
  return `${collectionPath(resource, allNamespaces ? undefined : namespace)}?${query}`;
}

interface ListOrObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly items?: readonly object[];
}

/** Adds the kind to each item of a list, as kubectl prints lists. Servers leave the kind of items out. */
function withKinds(found: ListOrObject): object {
  if (!found.items) return found;
  const kind = found.kind.replace(/List$/, '');
  return { ...found, items: found.items.map((item) => ({ apiVersion: found.apiVersion, kind, ...item })) };
}
