/** Checks the parts of a version besides the schema: columns, the scale subresource, selectable fields, and the warning of a deprecated version. */
import { duplicate, invalidField, required, tooMany } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { DefinitionColumn, DefinitionVersion, SchemaProps } from './definition.ts';
import { findField } from './schema-path.ts';

const columnTypes = 'must be one of boolean,date,integer,number,string';
const columnFormats = 'must be one of byte,date,date-time,double,float,int32,int64,password';

export function checkColumns(columns: readonly DefinitionColumn[], field: string): Cause[] {
  return columns.flatMap((column, index) => checkColumn(column, `${field}[${index}]`));
}

function checkColumn({ name, type, format, jsonPath }: DefinitionColumn, field: string): Cause[] {
  const causes: Cause[] = [];
  if (!name) causes.push(required(`${field}.name`));
  if (!type) causes.push(required(`${field}.type`, columnTypes));
  else if (!isListed(type, columnTypes)) causes.push(invalidField(`${field}.type`, type, columnTypes));
  if (format && !isListed(format, columnFormats)) causes.push(invalidField(`${field}.format`, format, columnFormats));
  // The Kubernetes API server names this field as its code does.
  if (!jsonPath) causes.push(required(`${field}.JSONPath`));
  else if (!jsonPath.startsWith('.')) causes.push(invalidField(`${field}.JSONPath`, jsonPath, simplePath));
  return causes;
}

const simplePath = 'must be a simple json path starting with .';

function isListed(value: string, list: string): boolean {
  return list
    .slice(list.lastIndexOf(' ') + 1)
    .split(',')
    .includes(value);
}

export function checkScale({ scale }: NonNullable<DefinitionVersion['subresources']>, field: string): Cause[] {
  if (!scale) return [];
  const check = (name: keyof typeof scale, under: readonly string[], where: string, isNeeded: boolean): Cause[] => {
    const at = `${field}.scale.${name}`;
    const path = scale[name];
    if (!path) return isNeeded ? [required(at)] : [];
    if (!path.startsWith('.')) return [invalidField(at, path, simplePath)];
    return under.some((prefix) => path.startsWith(prefix))
      ? []
      : [invalidField(at, path, `should be a json path ${where}`)];
  };
  return [
    ...check('specReplicasPath', ['.spec.'], 'under .spec', true),
    ...check('statusReplicasPath', ['.status.'], 'under .status', true),
    ...check('labelSelectorPath', ['.spec.', '.status.'], 'under either .spec or .status', false),
  ];
}

/** The limit of the Kubernetes API server. A list request reads each selectable field of every object. */
const selectableFieldsMax = 8;
const selectableTypes =
  'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';

export function checkSelectable(fields: readonly { jsonPath: string }[], schema: SchemaProps, field: string): Cause[] {
  const causes: Cause[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const at = `${field}[${index}].jsonPath`;
    const found = jsonPath ? findField(jsonPath, schema, false) : undefined;
    if (!found) causes.push(required(at));
    else if (typeof found === 'string') causes.push(invalidField(at, jsonPath, `is an invalid path: ${found}`));
    else {
      const { path } = found;
      if (path[0] === 'metadata') causes.push(invalidField(at, jsonPath, 'must not point to fields in metadata'));
      if (!['string', 'boolean', 'integer'].includes(found.schema.type ?? '')) {
        causes.push(invalidField(at, jsonPath, selectableTypes));
      }
      const name = path.join('.');
      if (seen.has(name)) causes.push(duplicate(at, jsonPath));
      seen.add(name);
    }
  }
  if (seen.size > selectableFieldsMax) causes.push(tooMany(field, seen.size, selectableFieldsMax));
  return causes;
}

const warningBytesMax = 256;

export function checkWarning({ deprecated, deprecationWarning: text }: DefinitionVersion, field: string): Cause[] {
  if (text === undefined) return [];
  if (!deprecated) return [invalidField(field, text, 'can only be set for deprecated versions')];
  const causes: Cause[] = [];
  if (Buffer.byteLength(text) > warningBytesMax) {
    causes.push(invalidField(field, text, `must be <= ${warningBytesMax} characters long`));
  }
  if (text === '') causes.push(invalidField(field, text, 'must not be an empty string'));
  const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(text);
  if (unprintable) {
    const place = Buffer.byteLength(text.slice(0, unprintable.index));
    const why = `must only contain printable UTF-8 characters; non-printable character found at index ${place}`;
    causes.push(invalidField(field, text, why));
  }
  return causes;
}
