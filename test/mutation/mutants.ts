import { parseSync } from '@swc/core';

/** A small change of a source, such as a person may make by mistake. */
export type Mutant = {
  /** Of the whole source: what is replaced, and by what. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
};

type Node = { readonly type: string; readonly span: Span; readonly [field: string]: unknown };
type Span = { readonly start: number; readonly end: number };
type Change = { readonly at: Span; readonly after: (text: string) => string };

/** Operators, each with the one that takes its place. */
const OTHER_OPERATOR: ReadonlyMap<unknown, string> = new Map([
  ['&&', '||'],
  ['||', '&&'],
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
  ['+', '-'],
  ['-', '+'],
  ['*', '/'],
  ['/', '*'],
  ['%', '*'],
  ['&', '|'],
  ['|', '&'],
  ['+=', '-='],
  ['-=', '+='],
]);
const OTHER_METHOD: ReadonlyMap<unknown, string> = new Map([
  ['max', 'min'],
  ['min', 'max'],
  ['ceil', 'floor'],
  ['floor', 'ceil'],
  ['some', 'every'],
  ['every', 'some'],
]);

/** All mutants of a source, in its order. Types, texts and log lines have none; nor have maps of keys, which the compiler checks. */
export function mutantsOf(source: string): readonly Mutant[] {
  // Positions count bytes, over all files that this process has parsed, and a program begins at its first token.
  const bytes = Buffer.from(`;${source}`);
  const program = parseSync(`;${source}`, { syntax: 'typescript', target: 'esnext' });
  const offset = program.span.start;
  const textAt = ({ start, end }: Span) => bytes.subarray(start - offset, end - offset).toString();
  const mutants = changesIn(program).map(({ at, after }) => {
    const before = textAt(at);
    const start = bytes.subarray(0, at.start - offset).toString().length - 1;
    return { start, end: start + before.length, before, after: after(before) };
  });
  return mutants.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

function changesIn(program: unknown): readonly Change[] {
  const changes: Change[] = [];
  const pending: unknown[] = [program];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Array.isArray(next)) pending.push(...next.map((each: unknown) => each ?? false));
    if (!isNode(next) || isLeftOut(next)) continue;
    changes.push(...changesOf(next));
    pending.push(...Object.values(next).map((each) => each ?? false));
  }
  return changes;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
/** What lists have besides nodes counts as a node: a member of an array, with or without `...`. */
const isNode = (value: unknown): value is Node => isObject(value) && !Array.isArray(value);

const WITH_VALUE = new Set(['TsAsExpression', 'TsSatisfiesExpression', 'TsNonNullExpression', 'TsConstAssertion']);

function isLeftOut({ type = '', ...node }: Node): boolean {
  if (type.startsWith('Ts')) return !WITH_VALUE.has(type);
  if (type === 'ImportDeclaration') return true;
  if (type === 'ObjectExpression') return isKeyMap(node.properties);
  // Of a read model: any other number is as good.
  if (type === 'KeyValueProperty') return isOf(node.key, 'version');
  return type === 'CallExpression' && isNode(node.callee) && isOf(node.callee.object, 'logger');
}

const isOf = (object: unknown, name: string): boolean => isNode(object) && object.value === name;

/** `{ a: true, b: true }`: only its keys matter. */
const isKeyMap = (properties: unknown): boolean =>
  Array.isArray(properties) &&
  properties.length > 1 &&
  properties.every((each: Node) => isNode(each.value) && each.value.type === 'BooleanLiteral' && each.value.value);

function changesOf(node: Node): readonly Change[] {
  const { type, span } = node;
  switch (type) {
    case 'IfStatement':
      return [...negated(node.test), ...(node.alternate ? [] : [removed(span)])];
    case 'ConditionalExpression':
      return negated(node.test);
    case 'BinaryExpression':
    case 'AssignmentExpression':
      return otherOperator(node);
    case 'UnaryExpression':
      return node.operator === '!' ? [{ at: span, after: (text) => text.slice(1) }] : [];
    case 'NumericLiteral':
      return [{ at: span, after: () => String(Number(node.value) + 1) }];
    case 'BooleanLiteral':
      return [{ at: span, after: () => String(!node.value) }];
    case 'ExpressionStatement':
      return isIdle(node.expression) ? [] : [removed(span)];
    case 'BreakStatement':
    case 'ContinueStatement':
    case 'ThrowStatement':
      return [removed(span)];
    case 'SpreadElement':
      return isNode(node.arguments) ? [{ at: node.arguments.span, after: () => '{}' }] : [];
    case 'MemberExpression':
      return otherMethod(node.property);
    default:
      return isNode(node.spread) && isNode(node.expression) ? [{ at: node.expression.span, after: () => '[]' }] : [];
  }
}

const removed = (at: Span): Change => ({ at, after: () => ';' });

/** An equality, or what is negated already, has a mutant of its own. */
function negated(test: unknown): readonly Change[] {
  if (!isNode(test) || test.operator === '===' || test.operator === '!==' || test.operator === '!') return [];
  return [{ at: test.span, after: (text) => `!(${text})` }];
}

function otherOperator({ operator, left, right }: Node): readonly Change[] {
  const other = OTHER_OPERATOR.get(operator);
  if (other === undefined || !isNode(left) || !isNode(right) || [left, right].some(isText)) return [];
  const between = { start: left.span.end, end: right.span.start };
  return [{ at: between, after: (text) => text.replace(String(operator), other) }];
}

const isText = ({ type }: Node): boolean => type === 'StringLiteral' || type === 'TemplateLiteral';

/** A log line, or what only the compiler looks at. */
const isIdle = (expression: unknown): boolean =>
  isNode(expression) && (expression.type === 'TsSatisfiesExpression' || isLeftOut(expression));

function otherMethod(property: unknown): readonly Change[] {
  if (!isNode(property) || property.type !== 'Identifier') return [];
  const other = OTHER_METHOD.get(property.value);
  return other === undefined ? [] : [{ at: property.span, after: () => other }];
}
