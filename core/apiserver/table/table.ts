/** The Table form of objects, which `kubectl get` prints. */
import { evaluateJsonPath } from '../../object/jsonpath.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Kind } from '../space.ts';
import { ageOf } from './ages.ts';
import { builtinColumns, type ComputedColumn, defaultColumns } from './builtin-columns.ts';

export interface TableOptions {
  readonly version: 'v1' | 'v1beta1';
  readonly includeObject: 'None' | 'Metadata' | 'Object';
  readonly nowMs: number;
}

const nameColumn = { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 };

export function columnDefinitions(kind: Kind, version: string): object[] {
  const columns = columnsOf(kind, version);
  return [
    nameColumn,
    ...columns.map(({ name, type, priority }) => ({ name, type, format: '', description: '', priority })),
  ];
}

export function tableRow(kind: Kind, version: string, object: KubeObject, options: TableOptions): object {
  const cells = [object.metadata.name, ...columnsOf(kind, version).map((column) => column.cell(object, options.nowMs))];
  return { cells, ...rowObject(object, options) };
}

export function table(definitions: object[], rows: object[], metadata: object, version: 'v1' | 'v1beta1'): object {
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions: definitions, rows };
}

export function partialMetadata(object: KubeObject, version: 'v1' | 'v1beta1'): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

function rowObject(object: KubeObject, { includeObject, version }: TableOptions): object {
  if (includeObject === 'None') return {};
  return { object: includeObject === 'Object' ? object : partialMetadata(object, version) };
}

function columnsOf(kind: Kind, version: string): readonly ComputedColumn[] {
  const own = kind.columns(version);
  const { storedAs } = kind;
  if (storedAs) {
    const storedForm = (object: KubeObject) => storedAs.rules.convert(object, storedAs.storageVersion);
    return columnsOf(storedAs, storedAs.storageVersion).map((column) => ({
      ...column,
      cell: (object, nowMs) => column.cell(storedForm(object), nowMs),
    }));
  }
  if (own.length === 0) return builtinColumns[`${kind.group}/${kind.resource}`] ?? defaultColumns;
  return own.map(
    (column): ComputedColumn => ({
      name: column.name,
      priority: column.priority,
      type: column.type === 'integer' ? 'integer' : 'string',
      cell: (object, nowMs) => customCell(object, column.jsonPath, column.type, nowMs),
    }),
  );
}

function customCell(object: KubeObject, path: string, type: string, nowMs: number): string | number {
  const values = evaluateJsonPath(object, path);
  if (values.length === 0) return '';
  if (type === 'date') return ageOf(String(values[0]), nowMs);
  if ((type === 'integer' || type === 'number') && typeof values[0] === 'number') return values[0];
  return values.map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value))).join(',');
}
