/** A fake cluster that creates new objects in one step, and records its requests. */
import { formatKey, type ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { FakeCluster } from './fake-cluster.ts';

const resources: Record<string, string> = { ConfigMap: '/configmaps', Namespace: '/namespaces' };

export class CreatingCluster extends FakeCluster {
  /** Keys, in order. */
  readonly looked: string[] = [];
  /** Names, in order. */
  readonly tried: string[] = [];
  /** Keys that it creates without an answer. */
  readonly mute = new Set<string>();
  /** A name for which `create` never answers. */
  hangsAt: string | undefined;

  mayCreate(): boolean {
    return true;
  }

  async create(object: KubeObject): Promise<KubeObject | undefined> {
    const { name = '', namespace = '' } = object.metadata;
    this.tried.push(name);
    if (name === this.hangsAt) return new Promise(() => {});
    const key = `${resources[object.kind] ?? 'apps/deployments'}/${namespace}/${name}`;
    if (this.objects.has(key) || this.refuse.has(key)) return undefined;
    const made = await this.apply(object);
    if (this.mute.delete(key)) throw new BanyanError('Unavailable', 'the connection was lost');
    return made;
  }

  override async get(key: ObjectKey): Promise<KubeObject | undefined> {
    this.looked.push(formatKey(key));
    return super.get(key);
  }
}
