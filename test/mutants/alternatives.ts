import ts from 'typescript';

// What a piece of source is changed to, one change at a time.

const { SyntaxKind: Kind } = ts;

const SWAPPED = new Map<ts.SyntaxKind, readonly string[]>([
  [Kind.EqualsEqualsToken, ['!=']],
  [Kind.ExclamationEqualsToken, ['==']],
  [Kind.LessThanToken, ['<=', '>=']],
  [Kind.LessThanEqualsToken, ['<', '>']],
  [Kind.GreaterThanToken, ['>=', '<=']],
  [Kind.GreaterThanEqualsToken, ['>', '<']],
  [Kind.AmpersandAmpersandToken, ['||']],
  [Kind.BarBarToken, ['&&']],
  [Kind.PlusToken, ['-']],
  [Kind.MinusToken, ['+']],
  [Kind.AsteriskToken, ['/']],
  [Kind.SlashToken, ['*']],
  [Kind.PercentToken, ['*']],
  [Kind.LessThanLessThanToken, ['>>']],
  [Kind.GreaterThanGreaterThanToken, ['<<']],
  [Kind.GreaterThanGreaterThanGreaterThanToken, ['<<']],
  [Kind.AmpersandToken, ['|']],
  [Kind.BarToken, ['&']],
  [Kind.CaretToken, ['|']],
  [Kind.PlusEqualsToken, ['-=']],
  [Kind.MinusEqualsToken, ['+=']],
  [Kind.AsteriskEqualsToken, ['/=']],
  [Kind.LessThanLessThanEqualsToken, ['>>=']],
  [Kind.GreaterThanGreaterThanEqualsToken, ['<<=']],
  [Kind.BarEqualsToken, ['&=']],
  [Kind.CaretEqualsToken, ['|=']],
]);

const RENAMED = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['round', 'floor'],
  ['abs', ''],
  ['rotl', 'rotr'],
]);

const LOGICAL = new Set([Kind.AmpersandAmpersandToken, Kind.BarBarToken]);
const COMPARISONS = new Set([
  ...[Kind.EqualsEqualsToken, Kind.ExclamationEqualsToken],
  ...[Kind.LessThanToken, Kind.LessThanEqualsToken],
  ...[Kind.GreaterThanToken, Kind.GreaterThanEqualsToken],
]);

/** Around an expression and all parentheses that enclose it. */
function roleOf(node: ts.Node): { readonly parent: ts.Node; readonly outermost: ts.Node } {
  let outermost = node;
  while (ts.isParenthesizedExpression(outermost.parent)) outermost = outermost.parent;
  return { parent: outermost.parent, outermost };
}

/** Whether an expression decides which way to go. */
export function isCondition(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node) || node.kind === Kind.TrueKeyword) return false;
  const { parent, outermost } = roleOf(node);
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) {
    return parent.expression === outermost;
  }
  if (ts.isForStatement(parent) || ts.isConditionalExpression(parent)) {
    return parent.condition === outermost;
  }
  if (ts.isPrefixUnaryExpression(parent)) return parent.operator === Kind.ExclamationToken;
  return ts.isBinaryExpression(parent) && LOGICAL.has(parent.operatorToken.kind);
}

function isBoolean(node: ts.Node): boolean {
  if (ts.isPrefixUnaryExpression(node)) return node.operator === Kind.ExclamationToken;
  if (!ts.isBinaryExpression(node)) return isCondition(node);
  const { kind } = node.operatorToken;
  return LOGICAL.has(kind) || COMPARISONS.has(kind);
}

/** The answers that are no change of the expression around this one. */
function answers(node: ts.Node): readonly string[] {
  const { parent } = roleOf(node);
  if (ts.isPrefixUnaryExpression(parent) && parent.operator === Kind.ExclamationToken) return [];
  if (!ts.isBinaryExpression(parent)) return ['true', 'false'];
  const { kind } = parent.operatorToken;
  if (kind === Kind.AmpersandAmpersandToken) return ['true'];
  if (kind === Kind.BarBarToken) return ['false'];
  return ['true', 'false'];
}

function ofNumber(node: ts.NumericLiteral): readonly string[] {
  const text = node.getText();
  const next = /^\d{1,6}$/.test(text) ? `${Number(text) + 1}` : `(${text} + 1)`;
  return Number(text) === 0 ? [next] : [next, '0'];
}

function ofPrefix(node: ts.PrefixUnaryExpression): readonly string[] {
  const operand = node.operand.getText();
  switch (node.operator) {
    case Kind.MinusToken:
    case Kind.TildeToken:
    case Kind.ExclamationToken:
      return [operand];
    case Kind.PlusPlusToken:
      return [`--${operand}`];
    case Kind.MinusMinusToken:
      return [`++${operand}`];
    default:
      return [];
  }
}

function ofPostfix({ operand, operator }: ts.PostfixUnaryExpression): readonly string[] {
  return [`${operand.getText()}${operator === Kind.PlusPlusToken ? '--' : '++'}`];
}

/** In parentheses where another operator around it could take it apart. */
function operand(node: ts.Expression): string {
  const isCompound = ts.isBinaryExpression(node) || ts.isAsExpression(node);
  return isCompound || ts.isConditionalExpression(node) ? `(${node.getText()})` : node.getText();
}

function ofBinary(
  { left, operatorToken, right }: ts.BinaryExpression,
  zeros: ReadonlySet<string>,
): readonly string[] {
  // Nothing is added, so nothing can be subtracted instead.
  if (operatorToken.kind === Kind.PlusToken && zeros.has(right.getText())) return [];
  const operators = SWAPPED.get(operatorToken.kind) ?? [];
  return operators.map((operator) => `${operand(left)} ${operator} ${operand(right)}`);
}

/** Of `min(0, x)` the first number takes the type of x, as long as it is nothing but a number. */
function isBare(node: ts.Node): node is ts.NumericLiteral {
  const { parent } = node;
  if (!ts.isNumericLiteral(node) || !ts.isCallExpression(parent)) return false;
  const isFirst = parent.arguments[0] === node && parent.typeArguments === undefined;
  return isFirst && /^(min|max)$/.test(parent.expression.getText());
}

function ofCall(node: ts.CallExpression): readonly string[] {
  const name = node.expression.getText();
  const rest = node.getText().slice(name.length);
  const renamed = RENAMED.get(name);
  const [first] = node.arguments;
  const numbers = first !== undefined && isBare(first) ? ofNumber(first) : [];
  return [
    ...(renamed === undefined ? [] : [`${renamed}${rest}`]),
    ...numbers.map((number) => `${name}${rest.replace(/\d+/, number)}`),
  ];
}

function changed(node: ts.Node, zeros: ReadonlySet<string>): readonly string[] {
  if (ts.isNumericLiteral(node)) return isBare(node) ? [] : ofNumber(node);
  if (ts.isPrefixUnaryExpression(node)) return ofPrefix(node);
  if (ts.isPostfixUnaryExpression(node)) return ofPostfix(node);
  if (ts.isBinaryExpression(node)) return ofBinary(node, zeros);
  return ts.isCallExpression(node) ? ofCall(node) : [];
}

/** The replacements of an expression. `zeros` are names of constants that are 0. */
export function alternatives(node: ts.Node, zeros: ReadonlySet<string>): readonly string[] {
  return [...changed(node, zeros), ...(isBoolean(node) ? answers(node) : [])];
}

/** Whether a statement can be left out: it does something and declares nothing. */
export function isRemovable(node: ts.Node): boolean {
  if (ts.isReturnStatement(node)) return node.expression === undefined;
  return (
    ts.isExpressionStatement(node) || ts.isBreakStatement(node) || ts.isContinueStatement(node)
  );
}
