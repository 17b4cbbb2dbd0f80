/** The pages docs/reference/node.md and agent.md, from the JSON Schema of the code that checks the configuration of a node. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
}

export interface ConfigPage {
  readonly title: string;
  readonly intro: readonly string[];
  /** The file with the JSON Schema, beside the page. */
  readonly schemaFile: string;
}

export function configPage(schema: object, { title, intro, schemaFile }: ConfigPage): string {
  const root = schema as JsonSchema;
  const parts = Object.entries(root.properties ?? {});
  const sections = parts.filter(([, one]) => isGroup(one));
  const plain = parts.filter(([, one]) => !isGroup(one));
  return [
    `# ${title}`,
    '',
    ...intro,
    '',
    `[\`${schemaFile}\`](${schemaFile}) is the JSON Schema of the file. With \`# yaml-language-server: $schema=…\` in the first line, an editor completes and checks it.`,
    '',
    'A field that is not `required` may be absent. Below a part that is absent, nothing is required.',
    '',
    ...table(plain.map(([name, one]) => row(name, one, isRequired(root, name)))),
    ...sections.flatMap(([name, one]) => ['', `## \`${name}\``, '', ...section(name, one)]),
    '',
  ].join('\n');
}

function section(name: string, schema: JsonSchema): string[] {
  if (schema.anyOf) {
    return [
      `${schema.description ?? ''} One of ${schema.anyOf.length} forms:`,
      ...schema.anyOf.flatMap((form, i) => [
        '',
        `### \`${name}\`, form ${i + 1}`,
        '',
        ...(form.description === undefined ? [] : [form.description, '']),
        ...table(rowsBelow(name, form)),
      ]),
    ];
  }
  return [schema.description ?? '', '', ...table(rowsBelow(name, schema))];
}

function rowsBelow(above: string, schema: JsonSchema): string[][] {
  const { properties = {}, items, additionalProperties } = schema;
  const own = Object.entries(properties).flatMap(([name, one]) => {
    const path = `${above}.${name}`;
    return [row(path, one, isRequired(schema, name)), ...rowsBelow(path, one)];
  });
  const inList = items && isGroup(items) ? rowsBelow(`${above}[]`, items) : [];
  const isMap = typeof additionalProperties === 'object' && isGroup(additionalProperties);
  return [...own, ...inList, ...(isMap ? rowsBelow(`${above}.NAME`, additionalProperties) : [])];
}

function row(path: string, schema: JsonSchema, required: boolean): string[] {
  const absent = required ? 'required' : schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
  return [`\`${path}\``, formOf(schema), absent, (schema.description ?? '').replaceAll('|', '\\|')];
}

function isRequired({ required = [] }: JsonSchema, name: string): boolean {
  return required.includes(name);
}

function isGroup({ properties, items, additionalProperties, anyOf }: JsonSchema): boolean {
  if (anyOf) return anyOf.some(isGroup);
  if (items) return isGroup(items);
  return properties !== undefined || (typeof additionalProperties === 'object' && isGroup(additionalProperties));
}

function formOf(schema: JsonSchema): string {
  const { type, items, anyOf, minimum, maximum } = schema;
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum) return schema.enum.map((one) => `\`${String(one)}\``).join(', ');
  if (anyOf) return [...new Set(anyOf.map(formOf))].join(' or ');
  if (items) return `list of ${formOf(items)}`;
  if (type === 'object') return 'map';
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'integer' || type === 'number') return `number${range(minimum, maximum)}`;
  return 'text';
}

function range(minimum: number | undefined, maximum: number | undefined): string {
  const most = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum === undefined && most === undefined) return '';
  if (most === undefined) return `, at least ${minimum}`;
  return minimum === undefined ? `, at most ${most}` : ` from ${minimum} to ${most}`;
}

function table(rows: readonly (readonly string[])[]): string[] {
  return [
    '| field | value | default | is |',
    '| --- | --- | --- | --- |',
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ];
}
