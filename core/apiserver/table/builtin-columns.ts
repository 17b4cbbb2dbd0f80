/** The columns of `kubectl get` for the built-in kinds, by group and resource. Names, order, types and texts are those of kube-apiserver. */
import { type ComputedColumn, createdAt } from './cells.ts';
import { clusterColumns } from './cluster-columns.ts';
import { workloadColumns } from './workload-columns.ts';

const columns = new Map(Object.entries({ ...workloadColumns, ...clusterColumns }));

export function builtinColumns(group: string, resource: string): readonly ComputedColumn[] {
  return columns.get(`${group}/${resource}`) ?? [createdAt];
}
