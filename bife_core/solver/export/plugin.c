/*
 * A plugin for SCIP 8 to 10, written by BiFE @VERSION@.
 *
//? if RULE
 * Rule:  @RULE_NAME@
 * Hash:  @SHA@
 * Reads: @READS@ features@MEASURED@
//? endif
//? if ROWS
 * Rows on demand: @ROWS@
//? endif
//? if FIRST
 * Branched on first: @FIRST@
//? endif
 *
 * Compile to SCIP's command line with it, SCIP being in $SCIP (without its headers, add -DBIFE_NO_SCIP_HEADERS):
 *
 *    cc -std=c99 -O2 -DBIFE_MAIN -ffp-contract=off -I$SCIP/include rule.c -o rule -L$SCIP/lib -Wl,-rpath,$SCIP/lib -lscip -lm
 *
 * Or make a library of it (-fPIC -shared for -DBIFE_MAIN), and call SCIP_RETCODE SCIPincludeBranchruleBife(SCIP* scip), which
 * is extern "C", after SCIP's default plugins were included and before the solve. Two plugins in one program need names:
 * -DBIFE_NAME='"bife_2"' -DBIFE_INCLUDE=SCIPincludeBranchruleBife2. What compiles this file must not use -ffast-math.
 *
//? if ROWS or FIRST
 * In the first round of presolving, which must not be off, rows of these classes (docs/how-to/configuration.md of BiFE)
 * are taken out of the first LP, to which SCIP adds those that an LP solution violates; variables of these classes get a
 * higher branching priority, unless some variable has one.
 *
//? endif
//? if RULE
 * The rule is asked at every node whose LP solution is branched on, and the candidate with the highest score is branched
 * on, the first of several. SCIP's next branching rule takes over where no score is above minus infinity, or where there
 * is no memory for the features. With the guard, which is on unless
 * branching/bife/maxshare is 0, that is reliability pseudocost branching (relpscost), and it takes over too where no score
 * is finite, and while features and rule have taken more than maxshare of the solving time and more than
 * branching/bife/grace seconds; for trees that are the same in every run set maxshare to 0. While strong branching has
 * taken no more than the share branching/bife/budget of all LP iterations, relpscost branches and the rule is not asked;
 * 0 is no budget, and with branching/bife/budgetreturns = FALSE it never branches again once it was over. Copies of SCIP
 * (sub-MIPs, concurrent solvers, decompositions) do not get the rule.
 *
//? endif
 * What is not the rule is part of BiFE (SPDX-License-Identifier: Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0),
 * whose docs/reference/features.md says what each feature means.
//? if RULE
 * The rule is its author's:
 *
 * @SOURCE@
//? endif
 */

#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 199309L  /* for clock_gettime */
#endif
#ifdef __FAST_MATH__
#error "Compile this file without -ffast-math: the rule needs NaN and infinity."
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef BIFE_NO_SCIP_HEADERS
#include "scip/scip.h"
#ifdef BIFE_MAIN
#include "scip/scipdefplugins.h"
#include "scip/scipshell.h"
#endif
#else
/* Without SCIP's headers: what of its interface is called below, which is the same in SCIP 8, 9 and 10. */
#ifdef __cplusplus
extern "C" {
#endif
typedef struct Scip SCIP;
typedef struct SCIP_Var SCIP_VAR;
//? if RULE
typedef struct SCIP_Branchrule SCIP_BRANCHRULE;
typedef struct SCIP_BranchruleData SCIP_BRANCHRULEDATA;
typedef struct SCIP_Col SCIP_COL;
typedef struct SCIP_Row SCIP_ROW;
typedef struct SCIP_Sol SCIP_SOL;
typedef struct SCIP_Node SCIP_NODE;
typedef struct SCIP_Param SCIP_PARAM;
typedef int SCIP_LPSOLSTAT;
typedef int SCIP_BRANCHDIR;
typedef long long SCIP_Longint;
//? endif
typedef double SCIP_Real;
typedef unsigned int SCIP_Bool;
typedef int SCIP_RETCODE;
typedef int SCIP_RESULT;
enum { SCIP_INVALIDDATA = -9, SCIP_NOMEMORY = -1, SCIP_OKAY = 1 };
enum { SCIP_DIDNOTRUN = 1, SCIP_BRANCHED = 13 };
//? if RULE
enum { SCIP_LPSOLSTAT_OPTIMAL = 1, SCIP_LPSOLSTAT_UNBOUNDEDRAY = 3 };
enum { SCIP_BRANCHDIR_DOWNWARDS = 0, SCIP_BRANCHDIR_UPWARDS = 1 };
//? endif
#define FALSE 0
#define TRUE 1
#define SCIP_CALL(x) do { SCIP_RETCODE code_ = (x); if( code_ != SCIP_OKAY ) return code_; } while( 0 )
SCIP_Real SCIPinfinity(SCIP*);
int SCIPgetNRuns(SCIP*);
//? if ROWS or FIRST
typedef struct SCIP_Presol SCIP_PRESOL;
typedef struct SCIP_PresolData SCIP_PRESOLDATA;
typedef unsigned int SCIP_PRESOLTIMING;
enum { SCIP_PRESOLTIMING_FAST = 4 };
#define SCIP_DECL_PRESOLEXEC(x) SCIP_RETCODE x(SCIP* scip, SCIP_PRESOL* presol, int nrounds, \
   SCIP_PRESOLTIMING presoltiming, int nnewfixedvars, int nnewaggrvars, int nnewchgvartypes, int nnewchgbds, \
   int nnewholes, int nnewdelconss, int nnewaddconss, int nnewupgdconss, int nnewchgcoefs, int nnewchgsides, \
   int* nfixedvars, int* naggrvars, int* nchgvartypes, int* nchgbds, int* naddholes, int* ndelconss, int* naddconss, \
   int* nupgdconss, int* nchgcoefs, int* nchgsides, SCIP_RESULT* result)
SCIP_RETCODE SCIPincludePresolBasic(SCIP*, SCIP_PRESOL**, const char*, const char*, int, int, SCIP_PRESOLTIMING,
   SCIP_DECL_PRESOLEXEC((*)), SCIP_PRESOLDATA*);
SCIP_PRESOL* SCIPfindPresol(SCIP*, const char*);
int SCIPgetNVars(SCIP*);
SCIP_Bool SCIPvarIsIntegral(SCIP_VAR*);
//? endif
//? if FIRST
SCIP_VAR** SCIPgetVars(SCIP*);
const char* SCIPvarGetName(SCIP_VAR*);
int SCIPvarGetBranchPriority(SCIP_VAR*);
SCIP_RETCODE SCIPchgVarBranchPriority(SCIP*, SCIP_VAR*, int);
//? endif
//? if ROWS
typedef struct SCIP_Cons SCIP_CONS;
typedef struct SCIP_Conshdlr SCIP_CONSHDLR;
int SCIPgetNConss(SCIP*);
SCIP_CONS** SCIPgetConss(SCIP*);
const char* SCIPconsGetName(SCIP_CONS*);
SCIP_CONSHDLR* SCIPconsGetHdlr(SCIP_CONS*);
const char* SCIPconshdlrGetName(SCIP_CONSHDLR*);
SCIP_RETCODE SCIPgetConsNVars(SCIP*, SCIP_CONS*, int*, SCIP_Bool*);
SCIP_RETCODE SCIPgetConsVars(SCIP*, SCIP_CONS*, SCIP_VAR**, int, SCIP_Bool*);
SCIP_RETCODE SCIPgetConsVals(SCIP*, SCIP_CONS*, SCIP_Real*, int, SCIP_Bool*);
SCIP_Real SCIPconsGetLhs(SCIP*, SCIP_CONS*, SCIP_Bool*);
SCIP_Real SCIPconsGetRhs(SCIP*, SCIP_CONS*, SCIP_Bool*);
SCIP_RETCODE SCIPsetConsInitial(SCIP*, SCIP_CONS*, SCIP_Bool);
SCIP_RETCODE SCIPsetConsRemovable(SCIP*, SCIP_CONS*, SCIP_Bool);
SCIP_Bool SCIPvarIsBinary(SCIP_VAR*);
//? endif
//? if RULE
SCIP_RETCODE SCIPincludeBranchruleBasic(SCIP*, SCIP_BRANCHRULE**, const char*, const char*, int, int, SCIP_Real,
   SCIP_BRANCHRULEDATA*);
SCIP_RETCODE SCIPsetBranchruleExecLp(SCIP*, SCIP_BRANCHRULE*,
   SCIP_RETCODE (*)(SCIP*, SCIP_BRANCHRULE*, SCIP_Bool, SCIP_RESULT*));
SCIP_RETCODE SCIPsetBranchruleInitsol(SCIP*, SCIP_BRANCHRULE*, SCIP_RETCODE (*)(SCIP*, SCIP_BRANCHRULE*));
SCIP_RETCODE SCIPsetBranchruleFree(SCIP*, SCIP_BRANCHRULE*, SCIP_RETCODE (*)(SCIP*, SCIP_BRANCHRULE*));
SCIP_BRANCHRULE* SCIPfindBranchrule(SCIP*, const char*);
SCIP_RETCODE SCIPsetBranchrulePriority(SCIP*, SCIP_BRANCHRULE*, int);
SCIP_RETCODE SCIPaddRealParam(SCIP*, const char*, const char*, SCIP_Real*, SCIP_Bool, SCIP_Real, SCIP_Real, SCIP_Real,
   SCIP_RETCODE (*)(SCIP*, SCIP_PARAM*), void*);
SCIP_RETCODE SCIPaddBoolParam(SCIP*, const char*, const char*, SCIP_Bool*, SCIP_Bool, SCIP_Bool,
   SCIP_RETCODE (*)(SCIP*, SCIP_PARAM*), void*);
SCIP_BRANCHRULEDATA* SCIPbranchruleGetData(SCIP_BRANCHRULE*);
void SCIPbranchruleSetData(SCIP_BRANCHRULE*, SCIP_BRANCHRULEDATA*);
SCIP_LPSOLSTAT SCIPgetLPSolstat(SCIP*);
SCIP_Real SCIPgetSolvingTime(SCIP*);
SCIP_RETCODE SCIPgetLPBranchCands(SCIP*, SCIP_VAR***, SCIP_Real**, SCIP_Real**, int*, int*, int*);
SCIP_RETCODE SCIPgetPseudoBranchCands(SCIP*, SCIP_VAR***, int*, int*);
SCIP_RETCODE SCIPbranchVar(SCIP*, SCIP_VAR*, SCIP_NODE**, SCIP_NODE**, SCIP_NODE**);
SCIP_RETCODE SCIPgetLPColsData(SCIP*, SCIP_COL***, int*);
SCIP_RETCODE SCIPgetLPRowsData(SCIP*, SCIP_ROW***, int*);
SCIP_Longint SCIPgetNLPs(SCIP*);
SCIP_Longint SCIPgetNLPIterations(SCIP*);
SCIP_Longint SCIPgetNStrongbranchLPIterations(SCIP*);
SCIP_Longint SCIPgetNDualResolveLPIterations(SCIP*);
SCIP_Longint SCIPgetNDualResolveLPs(SCIP*);
int SCIPgetNPrioLPBranchCands(SCIP*);
SCIP_Real SCIPepsilon(SCIP*);
SCIP_Real SCIPfeasFrac(SCIP*, SCIP_Real);
SCIP_Real SCIPgetRowActivity(SCIP*, SCIP_ROW*);
SCIP_COL* SCIPvarGetCol(SCIP_VAR*);
int SCIPvarGetProbindex(SCIP_VAR*);
int SCIPcolGetIndex(SCIP_COL*);
@DECLARATIONS@
SCIP_Bool SCIPcolIsIntegral(SCIP_COL*);
int SCIPcolGetNNonz(SCIP_COL*);
int SCIPcolGetNLPNonz(SCIP_COL*);
SCIP_ROW** SCIPcolGetRows(SCIP_COL*);
SCIP_Real* SCIPcolGetVals(SCIP_COL*);
int SCIProwGetIndex(SCIP_ROW*);
int SCIProwGetLPPos(SCIP_ROW*);
int SCIProwGetNNonz(SCIP_ROW*);
int SCIProwGetNLPNonz(SCIP_ROW*);
SCIP_COL** SCIProwGetCols(SCIP_ROW*);
SCIP_Real* SCIProwGetVals(SCIP_ROW*);
SCIP_Real SCIProwGetNorm(SCIP_ROW*);
SCIP_Real SCIProwGetLhs(SCIP_ROW*);
SCIP_Real SCIProwGetRhs(SCIP_ROW*);
SCIP_Real SCIProwGetDualsol(SCIP_ROW*);
//? endif
#ifdef BIFE_MAIN
SCIP_RETCODE SCIPcreate(SCIP**);
SCIP_RETCODE SCIPfree(SCIP**);
SCIP_RETCODE SCIPincludeDefaultPlugins(SCIP*);
SCIP_RETCODE SCIPprocessShellArguments(SCIP*, int, char**, const char*);
#endif
#ifdef __cplusplus
}
#endif
#endif

/* Names of the plugin and of what includes it: a program that links two plugins renames those of one. */
#ifndef BIFE_NAME
#define BIFE_NAME "bife"
#endif
#ifndef BIFE_INCLUDE
#define BIFE_INCLUDE SCIPincludeBranchruleBife
#endif
//? if RULE
#define RULE_PRIORITY 536870911  /* the highest there is; other branching rules run where this one gives no answer */
//? endif

#ifdef __cplusplus
extern "C"
#endif
SCIP_RETCODE BIFE_INCLUDE(SCIP* scip);

//? if ROWS or FIRST
static int is_letter(char c)
{
   return ('A' <= c && c <= 'Z') || ('a' <= c && c <= 'z');
}

/* Returns the place of the first letters of a name, and their number. */
static const char* first_letters(const char* name, int* letters)
{
   *letters = 0;
   while( *name != '\0' && !is_letter(*name) )
      ++name;
   while( is_letter(name[*letters]) )
      ++*letters;
   return name;
}

//? endif
//? if FIRST
/* --- Variables that are branched on first. --- */

static const char* const branched_on_first[] = {@NAMES@};

static int is_first(SCIP_VAR* variable)
{
   const char* name = SCIPvarGetName(variable);
   int letters;
   if( strncmp(name, "t_", 2) == 0 )  /* of the transformed problem */
      name += 2;
   name = first_letters(name, &letters);
   for( size_t k = 0; k < sizeof(branched_on_first) / sizeof(branched_on_first[0]); ++k )
      if( strlen(branched_on_first[k]) == (size_t)letters && strncmp(name, branched_on_first[k], (size_t)letters) == 0 )
         return SCIPvarIsIntegral(variable);
   return 0;
}

static SCIP_RETCODE set_priorities(SCIP* scip)
{
   const int n = SCIPgetNVars(scip);
   SCIP_VAR** variables = SCIPgetVars(scip);
   for( int k = 0; k < n; ++k )
      if( SCIPvarGetBranchPriority(variables[k]) != 0 )
         return SCIP_OKAY;
   for( int k = 0; k < n; ++k )
      if( is_first(variables[k]) )
         SCIP_CALL( SCIPchgVarBranchPriority(scip, variables[k], 1) );
   return SCIP_OKAY;
}

//? endif
//? if ROWS
/* --- Rows on demand. --- */

static const char* const rows_on_demand[] = {@CLASSES@};

enum { LONGEST_NAME = 1024 };

static void append(char* text, const char* part, int length)
{
   const size_t used = strlen(text);
   if( used + (size_t)length < LONGEST_NAME )
   {
      memcpy(text + used, part, (size_t)length);
      text[used + (size_t)length] = '\0';
   }
}

static void append_word(char* text, const char* word)
{
   append(text, word, (int)strlen(word));
   append(text, "_", 1);
}

/* Appends the variables whose coefficients, times `sign`, are positive. */
static void append_side(char* text, SCIP_VAR** variables, const SCIP_Real* values, int n, double sign)
{
   static const char* const words[3][3] = {{"b", "2b", "nb"}, {"i", "2i", "ni"}, {"c", "2c", "nc"}};
   int counts[3] = {0, 0, 0};
   int weighted = 0;
   double first = 0.0;
   for( int k = 0; k < n; ++k )
   {
      if( sign * values[k] <= 0.0 )
         continue;
      if( first == 0.0 )
         first = values[k];
      weighted |= values[k] != first;
      ++counts[SCIPvarIsBinary(variables[k]) ? 0 : SCIPvarIsIntegral(variables[k]) ? 1 : 2];
   }
   for( int kind = 0; kind < 3; ++kind )
      if( counts[kind] > 0 )
         append_word(text, words[kind][counts[kind] > 2 ? 2 : counts[kind] - 1]);
   if( weighted )
      append_word(text, "weighted");
}

/* Writes the class of a row. */
static void name_class(SCIP* scip, SCIP_CONS* row, SCIP_VAR** variables, const SCIP_Real* values, int n, double low,
   double high, char* text)
{
   const int lower = low > -SCIPinfinity(scip);
   const int upper = high < SCIPinfinity(scip);
   const char* sense = lower && upper ? "range_" : "le_";
   double sign = lower && !upper ? -1.0 : 1.0;
   double side;
   int letters;
   const char* stem = first_letters(SCIPconsGetName(row), &letters);
   int turned = 1;
   text[0] = '\0';
   append(text, "rows/", 5);
   if( letters >= 2 )
   {
      append(text, stem, letters);
      append(text, "/", 1);
   }
   for( int k = 0; k < n; ++k )
      if( sign * values[k] > 0.0 )
         turned = 0;
   if( turned )
      sign = -sign;
   if( turned && !(lower && upper) )
      sense = "ge_";
   side = sign * (upper ? high : low);
   append_side(text, variables, values, n, sign);
   for( int k = 0; k < n; ++k )
   {
      if( sign * values[k] < 0.0 )
      {
         append_word(text, "minus");
         append_side(text, variables, values, n, -sign);
         break;
      }
   }
   append(text, sense, (int)strlen(sense));
   append(text, side > 0.0 ? "pos" : side < 0.0 ? "neg" : "0", side == 0.0 ? 1 : 3);
}

static SCIP_RETCODE put_if_on_demand(SCIP* scip, SCIP_CONS* row, SCIP_VAR** variables, SCIP_Real* values, int room)
{
   static const char* const handlers[] = {"linear", "setppc", "logicor", "knapsack", "varbound"};
   const char* handler = SCIPconshdlrGetName(SCIPconsGetHdlr(row));
   char name[LONGEST_NAME];
   SCIP_Bool success = FALSE;
   int linear = 0;
   int n = 0;
   double low;
   double high;
   for( size_t h = 0; h < sizeof(handlers) / sizeof(handlers[0]); ++h )
      linear |= strcmp(handler, handlers[h]) == 0;
   if( !linear )
      return SCIP_OKAY;
   SCIP_CALL( SCIPgetConsNVars(scip, row, &n, &success) );
   low = SCIPconsGetLhs(scip, row, &success);
   high = SCIPconsGetRhs(scip, row, &success);
   if( n == 0 || n > room || low == high || (low <= -SCIPinfinity(scip) && high >= SCIPinfinity(scip)) )
      return SCIP_OKAY;
   SCIP_CALL( SCIPgetConsVars(scip, row, variables, room, &success) );
   SCIP_CALL( SCIPgetConsVals(scip, row, values, room, &success) );
   name_class(scip, row, variables, values, n, low, high, name);
   for( size_t k = 0; k < sizeof(rows_on_demand) / sizeof(rows_on_demand[0]); ++k )
   {
      if( strcmp(name, rows_on_demand[k]) == 0 )
      {
         SCIP_CALL( SCIPsetConsInitial(scip, row, FALSE) );
         SCIP_CALL( SCIPsetConsRemovable(scip, row, TRUE) );
      }
   }
   return SCIP_OKAY;
}

static SCIP_RETCODE put_rows_on_demand(SCIP* scip)
{
   const int room = SCIPgetNVars(scip) + 1;
   const int n = SCIPgetNConss(scip);
   SCIP_CONS** rows = SCIPgetConss(scip);
   SCIP_VAR** variables = (SCIP_VAR**)malloc((size_t)room * sizeof(SCIP_VAR*));
   SCIP_Real* values = (SCIP_Real*)malloc((size_t)room * sizeof(SCIP_Real));
   SCIP_RETCODE code = variables == NULL || values == NULL ? SCIP_NOMEMORY : SCIP_OKAY;
   for( int k = 0; k < n && code == SCIP_OKAY; ++k )
      code = put_if_on_demand(scip, rows[k], variables, values, room);
   free(variables);
   free(values);
   return code;
}

//? endif
//? if ROWS or FIRST
/* Runs before all other presolvers; after a restart the problem is as the solve left it. */
static SCIP_DECL_PRESOLEXEC(arrange)
{
   *result = SCIP_DIDNOTRUN;
   if( nrounds > 0 || SCIPgetNRuns(scip) > 1 )
      return SCIP_OKAY;
//? if ROWS
   SCIP_CALL( put_rows_on_demand(scip) );
//? endif
//? if FIRST
   SCIP_CALL( set_priorities(scip) );
//? endif
   return SCIP_OKAY;
}

static SCIP_RETCODE include_classes(SCIP* scip)
{
   SCIP_PRESOL* presolver = NULL;
   if( SCIPfindPresol(scip, BIFE_NAME "_classes") != NULL )
      return SCIP_INVALIDDATA;
   return SCIPincludePresolBasic(scip, &presolver, BIFE_NAME "_classes", "puts rows on demand, sets priorities",
      500000000, 1, SCIP_PRESOLTIMING_FAST, arrange, NULL);
}

//? endif
//? if RULE

/* --- The rule: a score for one candidate from its features. --- */

/* Places of the features that are read. docs/reference/features.md of BiFE says what each means. */
enum
{
@FEATURES@
   N_FEATURES = @N_FEATURES@
};

/* What Python and numpy have and C's library lacks. */
static inline double at_run_time(double x)
{
#ifdef __GNUC__
   __asm__("" : "+m"(x));  /* tanh(constant) of the compiler and of the library may differ in the last bit */
#endif
   return x;
}
static inline double py_min(double a, double b) { return at_run_time(b < a ? b : a); }
static inline double py_max(double a, double b) { return at_run_time(b > a ? b : a); }
static inline double np_minimum(double a, double b) { return at_run_time(isnan(a) ? a : isnan(b) || !(a <= b) ? b : a); }
static inline double np_maximum(double a, double b) { return at_run_time(isnan(a) ? a : isnan(b) || !(a >= b) ? b : a); }
static inline double np_fmin(double a, double b) { return at_run_time(isnan(b) ? a : isnan(a) || !(a <= b) ? b : a); }
static inline double np_fmax(double a, double b) { return at_run_time(isnan(b) ? a : isnan(a) || !(a >= b) ? b : a); }
static inline double np_sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x; }
static inline double square(double x) { return x * x; }
static inline double square_root_power(double x) { return x == -INFINITY ? INFINITY : fabs(sqrt(x)); }

static inline double power(double x, int n)  /* by repeated squaring */
{
   double result = 1.0;
   for( ; n != 0; n >>= 1, x *= x )
      if( n & 1 )
         result *= x;
   return result;
}

static inline double floor_mod(double x, double y)  /* Python's x % y */
{
   double rest = fmod(x, y);
   if( rest != 0.0 )
      return (y < 0.0) != (rest < 0.0) ? rest + y : rest;
   rest *= rest;
   return y < 0.0 ? -rest : rest;
}

static inline double floor_div(double x, double y)  /* Python's x // y */
{
   double rest = fmod(x, y);
   double ratio = (x - rest) / y;
   double whole;
   if( y == 0.0 )
      return x / y;
   if( rest != 0.0 && (y < 0.0) != (rest < 0.0) )
      ratio -= 1.0;
   if( ratio == 0.0 )
      return ratio * ratio * x / y;
   whole = floor(ratio);
   return ratio - whole > 0.5 ? whole + 1.0 : whole;
}
/* --- */

@RULE@

/* --- What is kept between two branchings. --- */

//? if KEPT
/* A row of the LP: sums over its entries, as they were when it was last seen to have changed. */
typedef struct
{
   SCIP_ROW* row;
   int index;
   int n_entries;
   double norm;
   double positive;       /* sum of its positive coefficients */
   double negative;       /* sum of its negative coefficients */
   double magnitude;      /* sum of its |coefficients| */
//? if ACTIVE_CANDIDATE_SUM
   int* columns;          /* index of the column of each entry */
   double* magnitudes;    /* |coefficient| of each entry */
   int room;              /* entries there is memory for */
//? endif
} KeptRow;

//? endif
//? if BY_ROW
/* What candidates read of a row at the present branching. */
typedef struct
{
   SCIP_Longint taken;    /* branching at which this was taken */
   int active;            /* does the LP solution lie on one of its sides? */
   double length;
   double lhs;
   double rhs;
   double weight_2;       /* weights 2 to 4 of active rows */
   double weight_3;
   double weight_4;
} PresentRow;

/* The rows a candidate stands in, which stay the same as long as the LP has the same rows. */
typedef struct
{
   SCIP_Longint version;  /* version of the LP this was taken from; 0 if never */
   SCIP_COL* column;
   int n;
   int room;
   int* positions;        /* LP positions of the rows */
   double* coefficients;
} Entries;

/* Which row was seen last at an LP position. SCIP never gives an index twice. */
typedef struct
{
   SCIP_ROW* row;
   int index;
   int n_entries;
} Identity;

//? endif
//? if STATIC or BY_ROW
typedef struct
{
   void* items;
   int room;
} Buffer;

//? endif
struct SCIP_BranchruleData
{
   SCIP_Real max_share;   /* parameters of the guard */
   SCIP_Real grace_s;
   SCIP_Real budget;      /* parameters of RPB's budget */
   SCIP_Bool returns;
   int over;              /* has RPB used up its budget in the present solve, not to branch again? */
   double spent_s;        /* CPU seconds this plugin has taken in the present solve */
   SCIP_Longint call;     /* number of the present branching */
   int run;               /* run and number of LPs at the last branching: a restart begins anew */
   SCIP_Longint n_lps;
//? if STATIC or DEGREE
   int static_taken;      /* were features of the columns taken in this solve? */
   Buffer records;        /* by column index: N_STATIC doubles, and 1.0 if they were taken */
//? endif
//? if ACTIVE_CANDIDATE_SUM
   Buffer unfixed;        /* by column index: last branching (SCIP_Longint) at which its variable was not fixed */
//? endif
//? if BY_ROW
   SCIP_ROW** lp_rows;
   int n_lp_rows;
   int n_known_rows;      /* rows in `identities`, -1 if they are not those of the last branching */
   SCIP_Longint visits;   /* rows met by the candidates of the last branching, each as often as it was met */
   SCIP_Longint version;  /* of the LP: counts how often its rows were seen to differ */
   Buffer present;        /* by LP position: PresentRow */
   Buffer identities;     /* by LP position: Identity */
   Buffer entries;        /* by problem index of a variable: Entries */
   Buffer active_rows;    /* scratch: positions of the active rows of one candidate, and |coefficients| in them */
   Buffer active_values;
//? endif
//? if KEPT
   Buffer kept;           /* by LP position: KeptRow */
//? endif
};

//? if STATIC or BY_ROW
/* Makes room for so many items; new ones are zero. Returns 0 if there is no memory. */
static int make_room(Buffer* buffer, int wanted, size_t size)
{
   int room;
   void* grown;
   if( wanted <= buffer->room )
      return 1;
   room = wanted + wanted / 2 + 64;
   grown = realloc(buffer->items, (size_t)room * size);
   if( grown == NULL )
      return 0;
   memset((char*)grown + (size_t)buffer->room * size, 0, (size_t)(room - buffer->room) * size);
   buffer->items = grown;
   buffer->room = room;
   return 1;
}

static void free_buffer(Buffer* buffer)
{
   free(buffer->items);
   buffer->items = NULL;
   buffer->room = 0;
}

//? endif
/* Forgets all of an earlier solve, or of the run before a restart. */
static void forget(SCIP_BRANCHRULEDATA* data)
{
   (void)data;
//? if ACTIVE_CANDIDATE_SUM
   for( int i = 0; i < data->kept.room; ++i )
   {
      free(((KeptRow*)data->kept.items)[i].columns);
      free(((KeptRow*)data->kept.items)[i].magnitudes);
   }
   free_buffer(&data->unfixed);
//? endif
//? if KEPT
   free_buffer(&data->kept);
//? endif
//? if BY_ROW
   for( int i = 0; i < data->entries.room; ++i )
   {
      free(((Entries*)data->entries.items)[i].positions);
      free(((Entries*)data->entries.items)[i].coefficients);
   }
   free_buffer(&data->entries);
   free_buffer(&data->present);
   free_buffer(&data->identities);
   free_buffer(&data->active_rows);
   free_buffer(&data->active_values);
   data->n_known_rows = -1;
//? endif
//? if STATIC or DEGREE
   free_buffer(&data->records);
   data->static_taken = 0;
//? endif
}

/* --- Features: the formulas, and what SCIP is asked for them. --- */

@FORMULAS@

//? if STATIC or DEGREE
enum
{
//? for name, n in RECORDED
   @name@_AT,
   @name@_END = @name@_AT + @n - 1@,
//? endfor
   TAKEN_AT,
   N_STATIC
};

/* Takes what is known of a column once per solve, from the LP as it is now. */
static int take_column(SCIP* scip, SCIP_BRANCHRULEDATA* data, SCIP_COL* column)
{
   const int index = SCIPcolGetIndex(column);
   double* record;
   if( !make_room(&data->records, (index + 1) * N_STATIC, sizeof(double)) )
      return 0;
   record = (double*)data->records.items + (size_t)index * N_STATIC;
   record[TAKEN_AT] = 1.0;
   (void)scip;
//? for name in solve
@ compute(name, "record + " + name + "_AT") @
//? endfor
//? if STRUCTURE or DEGREE
   const int n_rows = SCIPcolGetNNonz(column);
   SCIP_ROW** rows = SCIPcolGetRows(column);
   SCIP_Real* coefficients = SCIPcolGetVals(column);
   double lengths[] = @NO_VALUES@;
   double positive[] = @NO_VALUES@;
   double negative[] = @NO_VALUES@;
   double of_rows[4];
   double of_positive[4];
   double of_negative[4];
   for( int k = 0; k < n_rows; ++k )
   {
      if( SCIProwGetLPPos(rows[k]) < 0 )
         continue;
      add_value(lengths, SCIProwGetNNonz(rows[k]), lengths);
      if( coefficients[k] > 0.0 )
         add_value(positive, coefficients[k], positive);
      else if( coefficients[k] < 0.0 )
         add_value(negative, -coefficients[k], negative);
   }
   spread(lengths, of_rows);
   spread(positive, of_positive);
   spread(negative, of_negative);
   structure(lengths[0], of_rows, positive[0], of_positive, negative[0], of_negative, record + STRUCTURE_AT);
//? endif
   return 1;
}

/* At the first branching of a solve: takes every integer column of the LP. */
static int take_all_columns(SCIP* scip, SCIP_BRANCHRULEDATA* data)
{
   SCIP_COL** columns = NULL;
   int n = 0;
   if( SCIPgetLPColsData(scip, &columns, &n) != SCIP_OKAY )
      return 0;
   for( int c = 0; c < n; ++c )
   {
      if( SCIPcolIsIntegral(columns[c]) && !take_column(scip, data, columns[c]) )
         return 0;
   }
   data->static_taken = 1;
   return 1;
}

/* Returns what is known of a column, which is taken now if it was not in the LP before; NULL without memory. */
static const double* column_record(SCIP* scip, SCIP_BRANCHRULEDATA* data, SCIP_COL* column)
{
   const size_t at = (size_t)SCIPcolGetIndex(column) * N_STATIC;
   const int known = at + N_STATIC <= (size_t)data->records.room && ((double*)data->records.items)[at + TAKEN_AT] != 0.0;
   if( !known && !take_column(scip, data, column) )
      return NULL;
   return (double*)data->records.items + at;
}

//? endif
//? if ACTIVE_CANDIDATE_SUM
/* Marks the columns of all integer variables that are not fixed at this node. */
static int mark_unfixed(SCIP* scip, SCIP_BRANCHRULEDATA* data)
{
   SCIP_VAR** variables = NULL;
   int n = 0;
   if( SCIPgetPseudoBranchCands(scip, &variables, &n, NULL) != SCIP_OKAY )
      return 0;
   for( int v = 0; v < n; ++v )
   {
      SCIP_COL* column = SCIPvarGetCol(variables[v]);
      if( column == NULL )
         continue;
      if( !make_room(&data->unfixed, SCIPcolGetIndex(column) + 1, sizeof(SCIP_Longint)) )
         return 0;
      ((SCIP_Longint*)data->unfixed.items)[SCIPcolGetIndex(column)] = data->call;
   }
   return 1;
}

//? endif
//? if KEPT
/* Brings up to date what is kept of a row. SCIP does not change the coefficients of a row in the LP. */
static int keep_row(SCIP_BRANCHRULEDATA* data, SCIP_ROW* row, KeptRow* kept)
{
   const int n = SCIProwGetNNonz(row);
   SCIP_Real* values = SCIProwGetVals(row);
   (void)data;
   if( kept->row == row && kept->index == SCIProwGetIndex(row) && kept->n_entries == n
      && kept->norm == SCIProwGetNorm(row) )
      return 1;
//? if ACTIVE_CANDIDATE_SUM
   if( n > kept->room )
   {
      int* columns = (int*)realloc(kept->columns, (size_t)n * sizeof(int));
      if( columns != NULL )
         kept->columns = columns;
      double* magnitudes = (double*)realloc(kept->magnitudes, (size_t)n * sizeof(double));
      if( magnitudes != NULL )
         kept->magnitudes = magnitudes;
      if( columns == NULL || magnitudes == NULL )
         return 0;
      kept->room = n;
   }
//? endif
   kept->positive = 0.0;
   kept->negative = 0.0;
   for( int k = 0; k < n; ++k )
   {
      if( values[k] > 0.0 )
         kept->positive += values[k];
      else
         kept->negative += values[k];
//? if ACTIVE_CANDIDATE_SUM
      kept->columns[k] = SCIPcolGetIndex(SCIProwGetCols(row)[k]);
      kept->magnitudes[k] = fabs(values[k]);
//? endif
   }
   kept->magnitude = kept->positive - kept->negative;
   kept->row = row;
   kept->index = SCIProwGetIndex(row);
   kept->n_entries = n;
   kept->norm = SCIProwGetNorm(row);
   return 1;
}

//? endif
//? if BY_ROW
/* Takes what candidates read of the row at an LP position, once per branching. */
static int take_row(SCIP* scip, SCIP_BRANCHRULEDATA* data, int position)
{
   SCIP_ROW* row = data->lp_rows[position];
   PresentRow* present = (PresentRow*)data->present.items + position;
//? if KEPT
   KeptRow* kept = (KeptRow*)data->kept.items + position;
   if( !keep_row(data, row, kept) )
      return 0;
//? endif
   present->taken = data->call;
//? if DEGREE
   present->length = SCIProwGetNLPNonz(row);
//? endif
//? if RHS_RATIO or ACTIVE
   present->lhs = SCIProwGetLhs(row);
   present->rhs = SCIProwGetRhs(row);
//? endif
//? if ACTIVE
   const double activity = SCIPgetRowActivity(scip, row);
   const double epsilon = SCIPepsilon(scip);
   present->active = fabs(activity - present->rhs) <= epsilon || fabs(activity - present->lhs) <= epsilon;
   if( !present->active )
      return 1;
//? if ACTIVE_DUAL
   present->weight_4 = fabs(SCIProwGetDualsol(row));
//? endif
//? if ACTIVE_ROW_SUM
   present->weight_2 = weight_from_sum(kept->magnitude);
//? endif
//? if ACTIVE_CANDIDATE_SUM
   double total = 0.0;
   for( int k = 0; k < kept->n_entries; ++k )
   {
      const int column = kept->columns[k];
      if( column < data->unfixed.room && ((SCIP_Longint*)data->unfixed.items)[column] == data->call )
         total += kept->magnitudes[k];
   }
   present->weight_3 = weight_from_sum(total);
//? endif
//? endif
   (void)scip;
   return 1;
}

/* Takes all rows of the LP, and sees whether they are those of the last branching. */
static int take_all_rows(SCIP* scip, SCIP_BRANCHRULEDATA* data)
{
   int same = data->n_known_rows == data->n_lp_rows;
   if( !make_room(&data->identities, data->n_lp_rows, sizeof(Identity)) )
      return 0;
   data->n_known_rows = -1;  /* until all are taken */
   for( int position = 0; position < data->n_lp_rows; ++position )
   {
      SCIP_ROW* row = data->lp_rows[position];
      Identity* seen = (Identity*)data->identities.items + position;
      const int index = SCIProwGetIndex(row);
      const int n_entries = SCIProwGetNNonz(row);
      same = same && seen->row == row && seen->index == index && seen->n_entries == n_entries;
      seen->row = row;
      seen->index = index;
      seen->n_entries = n_entries;
      if( !take_row(scip, data, position) )
         return 0;
   }
   if( !same )
      ++data->version;
   data->n_known_rows = data->n_lp_rows;
   return 1;
}

/* Returns the rows a variable stands in; NULL without memory. */
static Entries* entries_of(SCIP_BRANCHRULEDATA* data, SCIP_VAR* variable, SCIP_COL* column)
{
   const int index = SCIPvarGetProbindex(variable);
   SCIP_ROW** rows = SCIPcolGetRows(column);
   SCIP_Real* values = SCIPcolGetVals(column);
   const int n_rows = SCIPcolGetNLPNonz(column);  /* SCIP keeps the rows that are in the LP first */
   Entries* entries;
   if( !make_room(&data->entries, index + 1, sizeof(Entries)) )
      return NULL;
   entries = (Entries*)data->entries.items + index;
   if( entries->version == data->version && entries->column == column )
      return entries;
   if( n_rows > entries->room )
   {
      int* positions = (int*)realloc(entries->positions, (size_t)n_rows * sizeof(int));
      if( positions != NULL )
         entries->positions = positions;
      double* coefficients = (double*)realloc(entries->coefficients, (size_t)n_rows * sizeof(double));
      if( coefficients != NULL )
         entries->coefficients = coefficients;
      if( positions == NULL || coefficients == NULL )
         return NULL;
      entries->room = n_rows;
   }
   entries->n = 0;
   for( int k = 0; k < n_rows; ++k )
   {
      const int position = SCIProwGetLPPos(rows[k]);
      if( position < 0 )
         continue;
      entries->positions[entries->n] = position;
      entries->coefficients[entries->n] = values[k];
      ++entries->n;
   }
   entries->version = data->version;
   entries->column = column;
   return entries;
}

//? if WEIGHTED
/* One weighting over a candidate's active rows: sums, mean, standard deviation, smallest, largest. */
static void active(const SCIP_BRANCHRULEDATA* data, int n, int weighting, double* out)
{
   const PresentRow* present = (const PresentRow*)data->present.items;
   const int* positions = (const int*)data->active_rows.items;
   const double* magnitudes = (const double*)data->active_values.items;
   double sums[] = @NO_SUMS@;
   double values[] = @NO_VALUES@;
   for( int k = 0; k < n; ++k )
   {
      const PresentRow* row = present + positions[k];
      const double weight = weighting == 1 ? 1.0
         : weighting == 2 ? row->weight_2 : weighting == 3 ? row->weight_3 : row->weight_4;
      add_active(sums, weight, magnitudes[k], sums);
//? if SPREAD
      add_value(values, weight * magnitudes[k], values);
//? endif
   }
   memcpy(out, sums, sizeof(sums));
//? if SPREAD
   spread(values, out + sizeof(sums) / sizeof(*sums));
//? endif
   (void)values;
}

//? endif
/* Computes the features of a candidate that are folded over its rows. */
static int features_by_row(SCIP* scip, SCIP_BRANCHRULEDATA* data, SCIP_VAR* variable, SCIP_COL* column,
   const double* record, double* f)
{
   const Entries* entries = entries_of(data, variable, column);
   double values[@ROOM@];
//? if ACTIVE
   int n_active = 0;
//? endif
//? if DEGREE
   double lengths[] = @NO_VALUES@;
//? endif
//? if RHS_RATIO
   const double infinity = SCIPinfinity(scip);
   double ratios[] = @NO_RATIOS@;
//? endif
//? if ONE_TO_ALL
   double shares[] = @NO_SHARES@;
//? endif
   (void)record;
   if( entries == NULL )
      return 0;
   data->visits += entries->n;
//? if ACTIVE
   if( !make_room(&data->active_rows, entries->n, sizeof(int))
      || !make_room(&data->active_values, entries->n, sizeof(double)) )
      return 0;
//? endif
   for( int k = 0; k < entries->n; ++k )
   {
      const int position = entries->positions[k];
      const PresentRow* row = (const PresentRow*)data->present.items + position;
      const double value = entries->coefficients[k];
      if( row->taken != data->call && !take_row(scip, data, position) )
         return 0;
//? if DEGREE
      add_value(lengths, row->length, lengths);
//? endif
//? if RHS_RATIO
      if( row->rhs < infinity )
         add_side(ratios, value, row->rhs, ratios);
      if( row->lhs > -infinity )
         add_side(ratios, -value, -row->lhs, ratios);
//? endif
//? if ONE_TO_ALL
      const KeptRow* kept = (const KeptRow*)data->kept.items + position;
      add_share(shares, value, kept->positive, kept->negative, shares);
//? endif
//? if ACTIVE
      if( row->active )
      {
         ((int*)data->active_rows.items)[n_active] = position;
         ((double*)data->active_values.items)[n_active] = fabs(value);
         ++n_active;
      }
//? endif
      (void)value;
   }
//? if DEGREE
   spread(lengths, values);
   degree(values, record[STRUCTURE_AT + @ROOT_MEAN@], record[STRUCTURE_AT + @ROOT_MIN@], record[STRUCTURE_AT + @ROOT_MAX@], values);
@ write("DEGREE", "values") @
//? endif
//? if RHS_RATIO
@ write("RHS_RATIO", "ratios") @
//? endif
//? if ONE_TO_ALL
@ write("ONE_TO_ALL", "shares") @
//? endif
//? if ACTIVE_UNIT
   active(data, n_active, 1, values);
@ write("ACTIVE_UNIT", "values") @
//? endif
//? if ACTIVE_ROW_SUM
   active(data, n_active, 2, values);
@ write("ACTIVE_ROW_SUM", "values") @
//? endif
//? if ACTIVE_CANDIDATE_SUM
   active(data, n_active, 3, values);
@ write("ACTIVE_CANDIDATE_SUM", "values") @
//? endif
//? if ACTIVE_DUAL
   active(data, n_active, 4, values);
@ write("ACTIVE_DUAL", "values") @
//? endif
   (void)values;
   return 1;
}

//? endif
/* Prepares the features of the n candidates of this branching. Returns 0 without memory. */
static int begin_branching(SCIP* scip, SCIP_BRANCHRULEDATA* data, int n)
{
   const int run = SCIPgetNRuns(scip);
   const SCIP_Longint n_lps = SCIPgetNLPs(scip);
   if( run != data->run || n_lps < data->n_lps )
      forget(data);
   data->run = run;
   data->n_lps = n_lps;
   ++data->call;
//? if STATIC or DEGREE
   if( !data->static_taken && !take_all_columns(scip, data) )
      return 0;
//? endif
//? if ACTIVE_CANDIDATE_SUM
   if( !mark_unfixed(scip, data) )
      return 0;
//? endif
//? if BY_ROW
   if( SCIPgetLPRowsData(scip, &data->lp_rows, &data->n_lp_rows) != SCIP_OKAY )
      return 0;
   if( !make_room(&data->present, data->n_lp_rows, sizeof(PresentRow)) )
      return 0;
//? if KEPT
   if( !make_room(&data->kept, data->n_lp_rows, sizeof(KeptRow)) )
      return 0;
//? endif
   /* Where candidates will meet most rows anyway, all are taken in order: only then can they be seen to be the same. */
   if( 2 * data->visits > data->n_lp_rows )
   {
      if( !take_all_rows(scip, data) )
         return 0;
   }
   else
   {
      ++data->version;
      data->n_known_rows = -1;
   }
   data->visits = 0;
//? endif
   (void)n;
   return 1;
}

/* Computes the features of one candidate; `value` is its value in the LP solution. Returns 0 without memory. */
static int features_of(SCIP* scip, SCIP_BRANCHRULEDATA* data, SCIP_VAR* variable, double value, double* f)
{
   SCIP_COL* column = SCIPvarGetCol(variable);
   const double* record = NULL;
   const double fraction = SCIPfeasFrac(scip, value);
   double values[@ROOM@];
   (void)data, (void)column, (void)record, (void)fraction, (void)values;
//? if STATIC or DEGREE
   record = column_record(scip, data, column);
   if( record == NULL )
      return 0;
//? endif
//? for name in solve
@ write(name, "record + " + name + "_AT") @
//? endfor
//? if STRUCTURE
@ write("STRUCTURE", "record + STRUCTURE_AT") @
//? endif
//? for name in candidate
@ compute(name, "values") @
@ write(name, "values") @
//? endfor
//? if BY_ROW
   return features_by_row(scip, data, variable, column, record, f);
//? endif
//? if not (BY_ROW)
   return 1;
//? endif
}

/* --- What SCIP calls. --- */

static double cpu_seconds(void)
{
#if defined(CLOCK_THREAD_CPUTIME_ID)
   struct timespec now;
   if( clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 )
      return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
   return (double)clock() / CLOCKS_PER_SEC;
}

/* Returns the place of the candidate with the highest score, the first of several; -1 if no score can be used. */
static int best_candidate(SCIP* scip, SCIP_BRANCHRULEDATA* data, SCIP_VAR** candidates, const SCIP_Real* solution, int n)
{
   const int only_finite = data->max_share > 0.0;
   double highest = -INFINITY;
   int best = -1;
   int finite = 0;
   if( !begin_branching(scip, data, n) )
      return -1;
   for( int c = 0; c < n; ++c )
   {
      double own;
      double f[N_FEATURES];
      if( !features_of(scip, data, candidates[c], solution[c], f) )
         return -1;
      own = score(f);
      finite = finite || isfinite(own);
      if( own > highest )  /* never for NaN */
      {
         highest = own;
         best = c;
      }
   }
   return only_finite && !finite ? -1 : best;
}

/* Returns whether RPB is to branch at this node, because strong branching has not used up the budget. */
static int within_budget(SCIP* scip, SCIP_BRANCHRULEDATA* data)
{
   double strong;
   int begun;
   if( data->budget <= 0.0 || data->over )
      return 0;
   strong = (double)SCIPgetNStrongbranchLPIterations(scip);
   begun = strong > 0.0;
   if( !begun )
   {
      /* RPB begins with up to 100 candidates at once, two LPs each, as long as those that were solved again so far. */
      const int n_candidates = SCIPgetNPrioLPBranchCands(scip);
      const SCIP_Longint n_resolves = SCIPgetNDualResolveLPs(scip);
      strong = 2.0 * (n_candidates < 100 ? n_candidates : 100);
      strong = strong * (double)SCIPgetNDualResolveLPIterations(scip) / (double)(n_resolves > 0 ? n_resolves : 1);
   }
   if( strong <= data->budget * (strong + (double)SCIPgetNLPIterations(scip)) )
      return 1;
   data->over = begun && !data->returns;
   return 0;
}

/* Branches on the candidate the rule scores highest. Where it cannot decide, SCIP's next branching rule does. */
static SCIP_RETCODE branch_on_lp(SCIP* scip, SCIP_BRANCHRULE* branchrule, SCIP_Bool allow_constraints,
   SCIP_RESULT* result)
{
   SCIP_BRANCHRULEDATA* data = SCIPbranchruleGetData(branchrule);
   SCIP_VAR** candidates = NULL;
   SCIP_Real* solution = NULL;
   int n_all = 0;
   int n = 0;
   int best;
   double started;
   const SCIP_LPSOLSTAT status = SCIPgetLPSolstat(scip);
   (void)allow_constraints;
   *result = SCIP_DIDNOTRUN;
   if( within_budget(scip, data) )
      return SCIP_OKAY;
   if( data->max_share > 0.0 && data->spent_s > data->grace_s )
   {
      const double elapsed = SCIPgetSolvingTime(scip);
      if( elapsed > 0.0 && data->spent_s > data->max_share * elapsed )
         return SCIP_OKAY;
   }
   if( status != SCIP_LPSOLSTAT_OPTIMAL && status != SCIP_LPSOLSTAT_UNBOUNDEDRAY )
      return SCIP_OKAY;
   started = cpu_seconds();
   /* Of candidates with branching priorities set by the user, only those of the highest, which come first. */
   SCIP_CALL( SCIPgetLPBranchCands(scip, &candidates, &solution, NULL, &n_all, &n, NULL) );
   best = best_candidate(scip, data, candidates, solution, n);
   if( best >= 0 )
   {
      SCIP_CALL( SCIPbranchVar(scip, candidates[best], NULL, NULL, NULL) );
      *result = SCIP_BRANCHED;
   }
   data->spent_s += cpu_seconds() - started;
   return SCIP_OKAY;
}

static SCIP_RETCODE begin_solve(SCIP* scip, SCIP_BRANCHRULE* branchrule)
{
   SCIP_BRANCHRULEDATA* data = SCIPbranchruleGetData(branchrule);
   forget(data);
   if( SCIPgetNRuns(scip) <= 1 )  /* not after a restart, where the solve goes on */
   {
      data->spent_s = 0.0;
      data->over = 0;
   }
   return SCIP_OKAY;
}

static SCIP_RETCODE free_rule(SCIP* scip, SCIP_BRANCHRULE* branchrule)
{
   SCIP_BRANCHRULEDATA* data = SCIPbranchruleGetData(branchrule);
   (void)scip;
   forget(data);
   free(data);
   SCIPbranchruleSetData(branchrule, NULL);
   return SCIP_OKAY;
}

static SCIP_RETCODE include_rule(SCIP* scip)
{
   SCIP_BRANCHRULEDATA* data = NULL;
   SCIP_BRANCHRULE* branchrule = NULL;
   SCIP_BRANCHRULE* fallback = SCIPfindBranchrule(scip, "relpscost");
   SCIP_RETCODE code;
   if( SCIPfindBranchrule(scip, BIFE_NAME) != NULL )
      return SCIP_INVALIDDATA;
   data = (SCIP_BRANCHRULEDATA*)calloc(1, sizeof(SCIP_BRANCHRULEDATA));
   if( data == NULL )
      return SCIP_NOMEMORY;
   forget(data);
   code = SCIPincludeBranchruleBasic(scip, &branchrule, BIFE_NAME, @DESCRIPTION@, RULE_PRIORITY, -1, 1.0, data);
   if( code != SCIP_OKAY )
   {
      free(data);
      return code;
   }
   SCIP_CALL( SCIPsetBranchruleExecLp(scip, branchrule, branch_on_lp) );
   SCIP_CALL( SCIPsetBranchruleInitsol(scip, branchrule, begin_solve) );
   SCIP_CALL( SCIPsetBranchruleFree(scip, branchrule, free_rule) );
   SCIP_CALL( SCIPaddRealParam(scip, "branching/" BIFE_NAME "/maxshare",
         "guard: share of the solving time features and rule may take; 0 for no guard", &data->max_share, FALSE, @SHARE@,
         0.0, 1.0, NULL, NULL) );
   SCIP_CALL( SCIPaddRealParam(scip, "branching/" BIFE_NAME "/grace",
         "guard: seconds they may take in any case", &data->grace_s, FALSE, @GRACE@, 0.0, 1e20, NULL, NULL) );
   SCIP_CALL( SCIPaddRealParam(scip, "branching/" BIFE_NAME "/budget",
         "share of the LP iterations that strong branching of relpscost may take before the rule branches; 0 for none",
         &data->budget, FALSE, @BUDGET@, 0.0, 1.0, NULL, NULL) );
   SCIP_CALL( SCIPaddBoolParam(scip, "branching/" BIFE_NAME "/budgetreturns",
         "does relpscost branch again once its share is back within the budget?", &data->returns, FALSE, @RETURNS@,
         NULL, NULL) );
   if( fallback != NULL )
      SCIP_CALL( SCIPsetBranchrulePriority(scip, fallback, RULE_PRIORITY - 1) );
   return SCIP_OKAY;
}

//? endif
/** Includes the plugin in SCIP, once, after SCIP's default plugins and before the solve. */
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
SCIP_RETCODE BIFE_INCLUDE(SCIP* scip)
{
//? if RULE
   SCIP_CALL( include_rule(scip) );
//? endif
//? if ROWS or FIRST
   SCIP_CALL( include_classes(scip) );
//? endif
   return SCIP_OKAY;
}

#ifdef BIFE_MAIN
/* SCIP's command line with this plugin. */
int main(int argc, char** argv)
{
   SCIP* scip = NULL;
   SCIP_CALL( SCIPcreate(&scip) );
   SCIP_CALL( SCIPincludeDefaultPlugins(scip) );
   SCIP_CALL( BIFE_INCLUDE(scip) );
   SCIP_CALL( SCIPprocessShellArguments(scip, argc, argv, "scip.set") );
   SCIP_CALL( SCIPfree(&scip) );
   return 0;
}
#endif
