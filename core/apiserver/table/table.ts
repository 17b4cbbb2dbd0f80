/** The Table form of objects, which `kubectl get` prints. */
import { jsonText } from '../../object/json.ts';
import { evaluateJsonPath } from '../../object/jsonpath.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../object/meta.ts';
import type { Kind } from '../space.ts';
import { ageOf } from './ages.ts';
import { builtinColumns } from './builtin-columns.ts';
import { type ComputedColumn, nameColumn } from './cells.ts';

export interface TableOptions {
  readonly version: 'v1' | 'v1beta1';
  readonly includeObject: 'None' | 'Metadata' | 'Object';
  readonly nowMs: number;
}

/** The parts of a kind that decide its columns. */
export type ColumnKind = Pick<Kind, 'group' | 'resource' | 'columns'> &
  Partial<Pick<Kind, 'storesAsWritten' | 'storedAs'>>;

export function columnDefinitions(kind: ColumnKind, version: string): object[] {
  return columnsOf(kind, version).map(({ name, type, format = '', priority }) => {
    return { name, type, format, description: '', priority };
  });
}

/**
 * The row of an object. An object that can't be converted to the version stays in its own version. Then a cell has the value of the column of the same name
 * in the object's own version.
 */
export function tableRow(kind: ColumnKind, version: string, object: KubeObject, options: TableOptions): object {
  const cells = columnsFor(kind, version, object).map(({ cell }) => cell(object, options.nowMs));
  return { cells, ...rowObject(object, options) };
}

export function table(definitions: object[], rows: object[], metadata: object, version: 'v1' | 'v1beta1'): object {
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions: definitions, rows };
}

export function partialMetadata(object: { readonly metadata: object }, version: 'v1' | 'v1beta1'): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

function rowObject(object: KubeObject, { includeObject, version }: TableOptions): object {
  if (includeObject === 'None') return {};
  return { object: includeObject === 'Object' ? object : partialMetadata(object, version) };
}

function columnsFor(kind: ColumnKind, version: string, object: KubeObject): readonly Pick<ComputedColumn, 'cell'>[] {
  const columns = columnsOf(kind, version);
  if (object.apiVersion === formatApiVersion(kind.group, version) || !kind.storesAsWritten) return columns;
  const own = parseApiVersion(object.apiVersion).version;
  const ownColumns = new Map(columnsOf(kind, own).map((column) => [column.name, column]));
  return columns.map(({ name }) => ownColumns.get(name) ?? { cell: () => `<${own}>` });
}

/** All columns, with the one of the name. A table of Events shows the name last. */
function columnsOf(kind: ColumnKind, version: string): readonly ComputedColumn[] {
  const columns = columnsBesideName(kind, version);
  return columns.some(({ name }) => name === nameColumn.name) ? columns : [nameColumn, ...columns];
}

function columnsBesideName(kind: ColumnKind, version: string): readonly ComputedColumn[] {
  const own = kind.columns(version);
  const { storedAs } = kind;
  if (storedAs) {
    const storedForm = (object: KubeObject) => storedAs.rules.convert(object, storedAs.storageVersion) ?? object;
    return columnsOf(storedAs, storedAs.storageVersion).map((column) => ({
      ...column,
      cell: (object, nowMs) => column.cell(storedForm(object), nowMs),
    }));
  }
  if (own.length === 0) return builtinColumns(kind.group, kind.resource);
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
  return values.map((value) => (typeof value === 'object' ? jsonText(value) : String(value))).join(',');
}
